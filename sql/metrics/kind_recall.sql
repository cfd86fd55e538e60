-- One row per label set, setting (strategy, strategy_digest, gold, judge), kind of redundancy and
-- origin (is_synthetic: put in by the authors, else it happened). Labels on judged steps only,
-- counted once for each repeat that asked about their trajectory.
--   n_labelled     labelled steps asked about
--   n_predicted    of these, with a prediction
--   n_found        of these, predicted redundant
--   recall         n_found / n_predicted, from 0 to 1; NULL without a prediction
--   recall_strict  n_found / n_labelled: a missing prediction is a miss
with marked as (
    select distinct
        labels.label_set,
        labels.trajectory_id,
        labels.step_index,
        labels.kind,
        labels.is_synthetic
    from labels
    join truth using (label_set, trajectory_id, step_index)
),

expected as (
    select
        marked.label_set,
        asked_trajectories.strategy,
        asked_trajectories.strategy_digest,
        asked_trajectories.gold,
        asked_trajectories.judge,
        marked.kind,
        marked.is_synthetic,
        count(*) as n_labelled
    from asked_trajectories
    join marked using (trajectory_id)
    group by all
),

found as (
    select
        marked.label_set,
        predictions.strategy,
        predictions.strategy_digest,
        predictions.gold,
        predictions.judge,
        marked.kind,
        marked.is_synthetic,
        count(*) as n_predicted,
        count(*) filter (predictions.is_redundant) as n_found
    from predictions
    join marked using (trajectory_id, step_index)
    group by all
)

select
    expected.label_set,
    expected.strategy,
    expected.strategy_digest,
    expected.gold,
    expected.judge,
    expected.kind,
    expected.is_synthetic,
    expected.n_labelled,
    coalesce(found.n_predicted, 0) as n_predicted,
    coalesce(found.n_found, 0) as n_found,
    found.n_found / found.n_predicted as recall,
    coalesce(found.n_found, 0) / expected.n_labelled as recall_strict
from expected
-- A label may have no kind, and NULL is a kind of its own here.
left join found
    on found.label_set = expected.label_set
    and found.strategy = expected.strategy
    and found.strategy_digest = expected.strategy_digest
    and found.gold = expected.gold
    and found.judge = expected.judge
    and found.kind is not distinct from expected.kind
    and found.is_synthetic = expected.is_synthetic
