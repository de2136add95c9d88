"""The wizard: questions about memory, tests of the answers, and a config.toml that loses nothing.

wizard.py runs from start to end, flow.py walks through the questions of questions.py, probes.py tests the answers,
plan.py makes the changes of them, review.py shows the diff. Only prompts.py uses questionary.
"""
