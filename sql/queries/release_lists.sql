-- Every trajectory that was asked for a ranked list, with its cases and with the list, for the later
-- release's result files of detect. said: NULL without a readable answer. state as in release_cases.
with states as (
    select requests.*, newest_answers.state
    from requests
    left join newest_answers using (prompt_hash)
    where requests.answer = 'findings'
),

marked as (
    select
        label_set,
        trajectory_id,
        list(
            {'step': [call_index, result_index], 'kind': kind, 'evidence': evidence}
            order by step_index
        ) as gold_cases
    from cases
    group by label_set, trajectory_id
),

lists as (
    select
        trajectory_id,
        strategy,
        strategy_digest,
        gold,
        judge,
        repeat,
        list(
            {
                'step': step,
                'kind': kind,
                'evidence': evidence,
                'confidence': confidence,
                'slot': slot,
                'is_first': is_first
            }
            order by slot
        ) as said
    from findings
    where answer = 'findings'
    group by all
)

select
    states.answer,
    detections.strategy,
    detections.strategy_digest,
    detections.gold,
    detections.judge,
    detections.repeat,
    detections.label_set,
    detections.trajectory_id,
    detections.domain,
    trajectories.task_id,
    marked.gold_cases,
    case when detections.is_answered then coalesce(lists.said, []) end as said,
    states.state
from detections
join trajectories using (trajectory_id)
join marked using (label_set, trajectory_id)
join states using (trajectory_id, strategy, strategy_digest, gold, judge, repeat)
left join lists using (trajectory_id, strategy, strategy_digest, gold, judge, repeat)
order by detections.label_set, detections.trajectory_id
