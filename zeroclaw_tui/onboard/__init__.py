"""The wizard: questions about memory, tests of the answers, and a lossless edit of config.toml.

wizard.py runs everything, flow.py asks the questions of questions.py, probes.py tests the answers, plan.py computes the
changes, review.py shows the diff. Only prompts.py uses questionary.
"""
