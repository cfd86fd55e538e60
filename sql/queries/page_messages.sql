-- One row per message, in order: who said what.
select trajectory_id, role, content, requestor, is_error, message_index
from messages
order by trajectory_id, message_index
