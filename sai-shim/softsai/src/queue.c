#include "queue.h"

static const struct attribute queue_attributes[] = {
	{ SAI_QUEUE_ATTR_TYPE, PLAIN, sizeof(int32_t), 0, NULL },
	{ SAI_QUEUE_ATTR_PORT, PLAIN, sizeof(sai_object_id_t), 0, NULL },
	{ SAI_QUEUE_ATTR_INDEX, PLAIN, sizeof(uint8_t), 0, NULL },
};

const struct type queue_type = {
	.type = SAI_OBJECT_TYPE_QUEUE,
	.name = "queue",
	.attributes = queue_attributes,
	.count = sizeof(queue_attributes) / sizeof(queue_attributes[0]),
};
