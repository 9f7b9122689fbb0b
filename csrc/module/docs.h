/* What help() says of Module and of its methods that are written in C. */
#ifndef RL_MODULE_DOCS_H
#define RL_MODULE_DOCS_H

extern const char rl_module_doc[], rl_module_get_extra_state_doc[], rl_module_set_extra_state_doc[],
    rl_module_call_doc[], rl_module_forward_doc[], rl_module_named_modules_doc[], rl_module_modules_doc[],
    rl_module_named_children_doc[], rl_module_children_doc[], rl_module_named_parameters_doc[],
    rl_module_parameters_doc[], rl_module_named_buffers_doc[], rl_module_buffers_doc[],
    rl_module_register_parameter_doc[], rl_module_register_buffer_doc[], rl_module_add_module_doc[],
    rl_module_register_module_doc[], rl_module_train_doc[], rl_module_eval_doc[], rl_module_apply_doc[],
    rl_module_zero_grad_doc[], rl_module_state_dict_doc[], rl_module_load_state_dict_doc[];
#endif
