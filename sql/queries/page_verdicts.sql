-- One row per verdict: the setting and repeat, and what was said.
select
    trajectory_id,
    strategy,
    strategy_digest,
    gold,
    judge,
    repeat,
    step_index,
    is_redundant,
    kind,
    evidence,
    confidence,
    rank
from predictions
order by trajectory_id, step_index
