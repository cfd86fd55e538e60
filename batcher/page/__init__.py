"""The report as one page to click through: scores, figures, every trajectory with its verdicts."""
