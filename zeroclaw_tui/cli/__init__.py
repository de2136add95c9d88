"""The commands: `zeroclaw memory`, `zeroclaw onboard`, `zeroclaw-tui`, and what is passed to the real zeroclaw.

verbs.py lists the commands and parses them; each is a function in the module of its family, declared with `@verb`.
options.py has the shared options, plans.py asks and reports, output.py prints. A module is imported only when one of
its commands runs.
"""
