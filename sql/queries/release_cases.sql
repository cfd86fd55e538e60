-- Every case with what was said of it, for the later release's result files of classify and retrieve.
-- state: of the newest answer; NULL where there is none, or the case was not asked about.
with states as (
    select requests.*, newest_answers.state
    from requests
    left join newest_answers using (prompt_hash)
    where requests.answer in ('kind', 'evidence')
)
select
    case_answers.answer,
    case_answers.strategy,
    case_answers.strategy_digest,
    case_answers.gold,
    case_answers.judge,
    case_answers.repeat,
    case_answers.label_set,
    case_answers.trajectory_id,
    case_answers.domain,
    trajectories.task_id,
    [steps.call_index, steps.result_index] as step,
    case_answers.kind,
    case_answers.evidence,
    case_answers.said_kind,
    case_answers.said_evidence,
    case_answers.is_answered,
    states.state
from case_answers
join trajectories using (trajectory_id)
join steps using (trajectory_id, step_index)
left join states
    on states.trajectory_id = case_answers.trajectory_id
    and states.strategy = case_answers.strategy
    and states.strategy_digest = case_answers.strategy_digest
    and states.gold = case_answers.gold
    and states.judge = case_answers.judge
    and states.repeat = case_answers.repeat
    and states.targets[1] = case_answers.step_index
    and (states.evidence is null or states.evidence = case_answers.evidence)
order by case_answers.label_set, case_answers.trajectory_id, case_answers.step_index
