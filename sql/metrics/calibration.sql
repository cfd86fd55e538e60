-- One row per label set, setting (strategy, strategy_digest, gold, judge) and tenth of confidence:
-- how often verdicts given with that confidence are right. Only verdicts with a confidence on judged
-- steps of annotated trajectories; repeats are pooled.
--   tenth              1 = from 0 up to 0.1, … 10 = from 0.9 to 1
--   n_verdicts         verdicts in it
--   mean_confidence    of these, from 0 to 1
--   accuracy           share of these that agree with the label set, from 0 to 1
--   overconfidence     mean_confidence - accuracy
select
    truth.label_set,
    predictions.strategy,
    predictions.strategy_digest,
    predictions.gold,
    predictions.judge,
    least(10, 1 + floor(predictions.confidence * 10))::integer as tenth,
    count(*) as n_verdicts,
    favg(predictions.confidence) as mean_confidence,
    avg((predictions.is_redundant = truth.is_labelled)::integer) as accuracy,
    mean_confidence - accuracy as overconfidence
from predictions
join truth using (trajectory_id, step_index)
where predictions.confidence between 0 and 1
group by all
