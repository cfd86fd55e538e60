-- One row per label that is a case of the later release: on a judged step with a result, with a kind
-- and evidence. Other labels ask for nothing that could be answered in full.
--   evidence      message indices; the pairs of joint evidence in ascending order
--   is_synthetic  put in by the authors, else it happened
select
    labels.label_set,
    labels.trajectory_id,
    trajectories.domain,
    labels.step_index,
    steps.call_index,
    steps.result_index,
    labels.kind,
    case
        when len(labels.evidence) > 2
        then flatten(list_sort(
            [labels.evidence[n : n + 1] for n in range(1, len(labels.evidence), 2)]
        ))
        else labels.evidence
    end as evidence,
    labels.is_synthetic
from labels
join steps using (trajectory_id, step_index)
join trajectories using (trajectory_id)
where steps.judged
    and steps.result_index is not null
    and labels.kind is not null
    and len(labels.evidence) > 0
