-- One row per step, in order; its result is the message result_index.
select trajectory_id, step_index, player, judged, call_index, result_index, tool, arguments, is_error
from steps
order by trajectory_id, step_index
