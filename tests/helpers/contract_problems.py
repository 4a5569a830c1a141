"""The toy problems of the contracts: every method and every system must do every one.

Four classes and seven features: no two axes have the same length, so that an axis is known by its length.
"""

from helpers.toys import Toy, toy

#: One task, ragged tasks, and a class that a task lacks.
PROBLEMS: list[Toy] = [
    toy([12], classes=4, features=7),
    toy([12, 9, 11], classes=4, features=7, missing=[(1, 0)]),
    toy([4, 13, 9], features=7),
]
#: Between these, for the long form.
MORE_PROBLEMS: list[Toy] = [
    toy([4, 13, 9], classes=4, features=7),  # one row per class in the first task
    toy([9, 9], features=7),
    toy([12, 12], classes=4, features=7),
    toy([12, 12, 12], classes=4, features=7),
    toy([8, 8, 8, 8, 8], classes=4, features=7),
    toy([12], features=7),
    toy([9, 9, 9], features=7),
    toy([6, 6, 6, 6, 6], features=7),
]
