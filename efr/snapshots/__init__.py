"""Shadow git stores: what the files of a project were before and after a turn.

One bare repository for each directory, below the data root. A project's own `.git` is never
written and its index never read. Nothing here decides when a snapshot is taken.
"""
