-- One row per label, and one without a step per annotated trajectory, so that a clean one is known
-- to be clean.
select
    annotations.trajectory_id,
    annotations.label_set,
    labels.step_index,
    labels.kind,
    labels.evidence,
    labels.confidence,
    labels.is_synthetic
from annotations
left join labels using (label_set, trajectory_id)
order by annotations.trajectory_id, annotations.label_set, labels.step_index
