-- One row per step, repeat and label set on which settings $1 and $2 do not say the same; without a
-- label set where nobody annotated the trajectory. $3: a label set, or NULL for all.
--   label, a, b  'redundant' or 'necessary': by the label set, by $1 and by $2
with said as (
    select setting, trajectory_id, step_index, repeat,
        if(is_redundant, 'redundant', 'necessary') as verdict
    from predictions
    join settings using (strategy, strategy_digest, gold, judge)
    where setting in ($1, $2)
)

select
    truth.label_set,
    a.trajectory_id,
    a.step_index,
    a.repeat,
    steps.tool,
    case when truth.is_labelled then 'redundant' when not truth.is_labelled then 'necessary' end
        as label,
    a.verdict as a,
    b.verdict as b
from said as a
join said as b using (trajectory_id, step_index, repeat)
join steps using (trajectory_id, step_index)
left join truth using (trajectory_id, step_index)
where a.setting = $1 and b.setting = $2 and a.verdict <> b.verdict
    and ($3 is null or truth.label_set = $3)
order by truth.label_set, a.trajectory_id, a.step_index, a.repeat
