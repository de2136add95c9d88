"""The way through the questions, the review at its end, and what is kept between two runs."""
