"""From trajectories to predictions: expand, plan, submit, resume, ingest, predict, report."""
