/*
 * surface/model: the model as the last resort: which questions it can be asked.
 *
 * It is asked for clients without elicitation, about what a tool needs. How it is told, and how its
 * answer comes back, is the protocol's (mcp/later/model).
 */
#ifndef NOD_SURFACE_MODEL_H
#define NOD_SURFACE_MODEL_H

#include "core/engine.h"

/* For mcp_use_model, which takes it over. */
struct surface *surface_model(void);

#endif
