-- One row per label set, setting, repeat and annotated trajectory that was asked about and has a
-- judged step, answered or not. A setting is (strategy, strategy_digest, gold, judge). Questions about
-- one step that is known to be redundant are left out.
--   tp, fp, fn           judged steps with a prediction, against the labels
--   precision, recall    fractions; NULL without a denominator
--   f1                   their harmonic mean; 0 where both are 0 or one has no denominator, also
--                        for a clean trajectory with nothing predicted. NULL: nothing answered
--   f1_clean_is_one      the same, but 1 for a clean trajectory with nothing predicted
--   f1_strict            a missing prediction is a wrong one: fn on a labelled step, else fp
--   is_scored            every judged step has a prediction
--   predicted_redundant  true once one step is, false when all steps are not, else NULL: open
--   trajectory_correct   predicted_redundant agrees with has_redundant; NULL while it is open
with annotated as (
    select
        label_set,
        trajectory_id,
        count(*) as n_judged,
        count(*) filter (is_labelled) as n_labelled
    from truth
    group by all
),

-- One row per prediction on a judged step, and one without a verdict per request, so that what was
-- asked and not answered is counted too. Grouping both at once is cheaper than joining them.
votes as (
    select
        truth.label_set,
        predictions.strategy,
        predictions.strategy_digest,
        predictions.gold,
        predictions.judge,
        predictions.repeat,
        predictions.trajectory_id,
        predictions.is_redundant,
        truth.is_labelled
    from predictions
    join truth using (trajectory_id, step_index)
    union all
    select label_set, strategy, strategy_digest, gold, judge, repeat, trajectory_id, null, null
    from requests
    join annotations using (trajectory_id)
    where answer not in ('kind', 'evidence')
),

counted as (
    select
        label_set,
        strategy,
        strategy_digest,
        gold,
        judge,
        repeat,
        trajectory_id,
        count(is_redundant) as n_predicted,
        count(*) filter (is_redundant and is_labelled) as tp,
        count(*) filter (is_redundant and not is_labelled) as fp,
        count(*) filter (not is_redundant and is_labelled) as fn
    from votes
    group by all
)

select
    counted.label_set,
    counted.strategy,
    counted.strategy_digest,
    counted.gold,
    counted.judge,
    counted.repeat,
    counted.trajectory_id,
    trajectories.dataset,
    trajectories.domain,
    trajectories.n_messages,
    n_judged,
    n_labelled,
    n_predicted,
    tp,
    fp,
    fn,
    case when tp + fp > 0 then tp / (tp + fp) end as precision,
    case when tp + fn > 0 then tp / (tp + fn) end as recall,
    -- 2tp / (2tp + fp + fn) is the harmonic mean without its two roundings.
    case
        when n_predicted = 0 then null
        when tp = 0 then 0.0
        else 2 * tp / (2 * tp + fp + fn)
    end as f1,
    case
        when n_predicted > 0 and n_labelled = 0 and fp = 0 then 1.0
        else f1
    end as f1_clean_is_one,
    -- 2tp + fp + fn here is tp + fp + every step that is labelled or unanswered, each once.
    case
        when tp = 0 then 0.0
        else 2 * tp / (tp + fp + n_labelled + (n_judged - n_predicted) - (n_labelled - tp - fn))
    end as f1_strict,
    n_predicted = n_judged as is_scored,
    n_labelled > 0 as has_redundant,
    case
        when tp + fp > 0 then true
        when n_predicted = n_judged then false
    end as predicted_redundant,
    predicted_redundant = has_redundant as trajectory_correct
from counted
join annotated using (label_set, trajectory_id)
join trajectories using (trajectory_id)
