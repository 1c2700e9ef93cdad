"""The main job on real data: ``python -m adjit.demo``."""
