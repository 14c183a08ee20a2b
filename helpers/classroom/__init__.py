"""
The instructor's side: hand notebooks out, collect them, and see what a class believes.

`python -m helpers.classroom` is the way in, `docs/instructors.md` the guide. Reading what was handed in never runs
it; only `check` and nbgrader do, apart from this process.

- out: `release`, `key`, `nbgrader_assignment`
- in: `handed_in` (which files, whose), `submissions` (what one person's hold), `collect` (the class's), `roster`
- seen: `judging`, `tally`, `clusters` (counted), `context` (what a prompt refers to), `page`, `report`, `live` (shown)
- shared: `arguments` of commands, `sheets`, `writing` (whole or not at all), `workers`
- run: `runner`, `runner_child`, `check_command`, `nbgrader_grading`, `points`
"""
