/* What help() says of Module and of its methods that are written in C. */
#include "internal.h"

const char rl_module_doc[] =
    "Base class of all layers and models.\n\n"
    "A subclass defines `forward`, and its instances are called. Parameters, buffers and modules that\n"
    "are assigned as attributes are registered: they move with the module, stand in its state dict\n"
    "and, of parameters, in `parameters()`.\n\n"
    "Attributes\n----------\n"
    "training : bool\n"
    "    Whether the module is in training mode, as `train()` and `eval()` set it.\n\n"
    "Raises\n------\n"
    "AttributeError\n"
    "    If a parameter or module is assigned before `super().__init__()` was called.\n"
    "NotImplementedError\n"
    "    When called, if the subclass defines no `forward`.\n\n"
    "Notes\n-----\n"
    "Same as torch.nn.Module: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Module.html\n\n"
    "Examples\n--------\n"
    ">>> class Net(nn.Module):\n"
    "...     def __init__(self):\n"
    "...         super().__init__()\n"
    "...         self.conv = nn.Conv2d(1, 6, 5)\n"
    "...         self.head = nn.Linear(6, 10)\n"
    "...\n"
    "...     def forward(self, x):\n"
    "...         x = F.relu(self.conv(x))\n"
    "...         return self.head(x.mean(dim=(2, 3)))\n"
    ">>> net = Net()\n"
    ">>> net(torch.randn(4, 1, 28, 28)).shape\n"
    "torch.Size([4, 10])\n"
    ">>> [name for name, _ in net.named_parameters()]\n"
    "['conv.weight', 'conv.bias', 'head.weight', 'head.bias']";

const char rl_module_get_extra_state_doc[] =
    "get_extra_state($self, /)\n--\n\n"
    "Return what belongs into the state dict besides parameters and buffers.\n\n"
    "A subclass that has such state overrides it, together with `set_extra_state`.\n\n"
    "Returns\n-------\n"
    "object\n"
    "    Anything that can be pickled; it stands under the key ``prefix + '_extra_state'``.";

const char rl_module_set_extra_state_doc[] =
    "set_extra_state($self, state, /)\n--\n\n"
    "Take back what `get_extra_state` returned; `load_state_dict` calls it.\n\n"
    "Parameters\n----------\n"
    "state : object\n"
    "    What the state dict holds under ``prefix + '_extra_state'``.";

const char rl_module_call_doc[] = "__call__($self, /, *args, **kwargs)\n--\n\n"
                                  "Run `forward` with all hooks around it.";

const char rl_module_forward_doc[] = "forward($self, /, *input)\n--\n\n"
                                     "Compute the output; every subclass overrides it.\n\n"
                                     "Call the module itself instead of this, so that its hooks run.\n\n"
                                     "Raises\n------\n"
                                     "NotImplementedError\n"
                                     "    If a subclass does not define it.";

const char rl_module_named_modules_doc[] =
    "named_modules($self, /, memo=None, prefix='', remove_duplicate=True)\n--\n\n"
    "Iterate over all modules with their names, this one included.\n\n"
    "Parameters\n----------\n"
    "memo : set of Modules, optional\n"
    "    Modules to leave out; those that come are added.\n"
    "prefix : str, default ''\n"
    "    What stands before all names.\n"
    "remove_duplicate : bool, default True\n"
    "    Give a module that stands in several places once.\n\n"
    "Yields\n------\n"
    "(str, Module)\n"
    "    Name and module; the name of this one is `prefix`.\n\n"
    "Examples\n--------\n"
    ">>> model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))\n"
    ">>> [name for name, _ in model.named_modules()]\n"
    "['', '0', '1', '1.0']";

const char rl_module_modules_doc[] = "modules($self, /, remove_duplicate=True)\n--\n\n"
                                     "Iterate over all modules, this one included.\n\n"
                                     "Parameters\n----------\n"
                                     "remove_duplicate : bool, default True\n"
                                     "    Give a module that stands in several places once.\n\n"
                                     "Yields\n------\n"
                                     "Module";

const char rl_module_named_children_doc[] = "named_children($self, /)\n--\n\n"
                                            "Iterate over the immediate children with their names.\n\n"
                                            "Yields\n------\n"
                                            "(str, Module)";

const char rl_module_children_doc[] = "children($self, /)\n--\n\n"
                                      "Iterate over the immediate children.\n\n"
                                      "Yields\n------\n"
                                      "Module";

const char rl_module_named_parameters_doc[] =
    "named_parameters($self, /, prefix='', recurse=True, remove_duplicate=True)\n--\n\n"
    "Iterate over the parameters with their names.\n\n"
    "Parameters\n----------\n"
    "prefix : str, default ''\n"
    "    What stands before all names.\n"
    "recurse : bool, default True\n"
    "    Also those of the modules below.\n"
    "remove_duplicate : bool, default True\n"
    "    Give a parameter that stands in several places once.\n\n"
    "Yields\n------\n"
    "(str, Parameter)\n\n"
    "Examples\n--------\n"
    ">>> [(name, list(p.shape)) for name, p in nn.Linear(3, 2).named_parameters()]\n"
    "[('weight', [2, 3]), ('bias', [2])]";

const char rl_module_parameters_doc[] = "parameters($self, /, recurse=True)\n--\n\n"
                                        "Iterate over the parameters, as an optimizer takes them.\n\n"
                                        "Parameters\n----------\n"
                                        "recurse : bool, default True\n"
                                        "    Also those of the modules below.\n\n"
                                        "Yields\n------\n"
                                        "Parameter\n\n"
                                        "Examples\n--------\n"
                                        ">>> sum(p.numel() for p in nn.Linear(3, 2).parameters())\n"
                                        "8";

const char rl_module_named_buffers_doc[] =
    "named_buffers($self, /, prefix='', recurse=True, remove_duplicate=True)\n--\n\n"
    "Iterate over the buffers with their names.\n\n"
    "Parameters\n----------\n"
    "prefix : str, default ''\n"
    "    What stands before all names.\n"
    "recurse : bool, default True\n"
    "    Also those of the modules below.\n"
    "remove_duplicate : bool, default True\n"
    "    Give a buffer that stands in several places once.\n\n"
    "Yields\n------\n"
    "(str, Tensor)\n\n"
    "Examples\n--------\n"
    ">>> [name for name, _ in nn.BatchNorm1d(3).named_buffers()]\n"
    "['running_mean', 'running_var', 'num_batches_tracked']";

const char rl_module_buffers_doc[] = "buffers($self, /, recurse=True)\n--\n\n"
                                     "Iterate over the buffers.\n\n"
                                     "Parameters\n----------\n"
                                     "recurse : bool, default True\n"
                                     "    Also those of the modules below.\n\n"
                                     "Yields\n------\n"
                                     "Tensor";

const char rl_module_register_parameter_doc[] =
    "register_parameter($self, /, name, param)\n--\n\n"
    "Add a parameter under a name; assigning it as an attribute does the same.\n\n"
    "Parameters\n----------\n"
    "name : str\n"
    "    Name of the attribute.\n"
    "param : Parameter or None\n"
    "    None keeps the name and leaves it out of the state dict.\n\n"
    "Raises\n------\n"
    "KeyError\n"
    "    For a name that is empty, has a dot in it or is taken.\n"
    "TypeError\n"
    "    If `name` is no str, or `param` neither a Parameter nor None.\n"
    "ValueError\n"
    "    If `param` is the result of an operator.";

const char rl_module_register_buffer_doc[] =
    "register_buffer($self, /, name, tensor, persistent=True)\n--\n\n"
    "Add a buffer, a tensor that belongs to the state but is not learned, under a name.\n\n"
    "Parameters\n----------\n"
    "name : str\n"
    "    Name of the attribute.\n"
    "tensor : Tensor or None\n"
    "    None keeps the name and leaves it out of the state dict.\n"
    "persistent : bool, default True\n"
    "    Whether it stands in the state dict.\n\n"
    "Raises\n------\n"
    "KeyError\n"
    "    For a name that is empty, has a dot in it or is taken.\n"
    "TypeError\n"
    "    If `name` is no str, or `tensor` neither a Tensor nor None.\n\n"
    "Examples\n--------\n"
    ">>> module = nn.Module()\n"
    ">>> module.register_buffer(\"mean\", torch.zeros(3))\n"
    ">>> module.register_buffer(\"cache\", torch.zeros(9), persistent=False)\n"
    ">>> list(module.state_dict()), module.cache.shape\n"
    "(['mean'], torch.Size([9]))";

const char rl_module_add_module_doc[] =
    "add_module($self, /, name, module)\n--\n\n"
    "Add a child module under a name; assigning it as an attribute does the same.\n\n"
    "Parameters\n----------\n"
    "name : str\n"
    "    Name of the attribute.\n"
    "module : Module or None\n"
    "    The child.\n\n"
    "Raises\n------\n"
    "KeyError\n"
    "    For a name that is empty, has a dot in it or is taken.\n"
    "TypeError\n"
    "    If `name` is no str, or `module` neither a Module nor None.";

const char rl_module_register_module_doc[] = "register_module($self, /, name, module)\n--\n\n"
                                             "Add a child module under a name: another name of `add_module`.";

const char rl_module_train_doc[] =
    "train($self, /, mode=True)\n--\n\n"
    "Set this module and all below it to training mode, or to evaluation mode.\n\n"
    "Dropout, batch normalization and others behave differently in both.\n\n"
    "Parameters\n----------\n"
    "mode : bool, default True\n"
    "    False for evaluation mode.\n\n"
    "Returns\n-------\n"
    "Module\n"
    "    This module.\n\n"
    "Raises\n------\n"
    "ValueError\n"
    "    If `mode` is no bool.";

const char rl_module_eval_doc[] =
    "eval($self, /)\n--\n\n"
    "Set this module and all below it to evaluation mode: ``train(False)``.\n\n"
    "Gradients are still recorded; `torch.no_grad` and `torch.inference_mode` switch them off.\n\n"
    "Returns\n-------\n"
    "Module\n"
    "    This module.\n\n"
    "Examples\n--------\n"
    ">>> nn.Dropout().eval().training\n"
    "False";

const char rl_module_apply_doc[] =
    "apply($self, /, fn)\n--\n\n"
    "Call a function with every module below this one, then with this one.\n\n"
    "Parameters\n----------\n"
    "fn : callable\n"
    "    ``fn(module)``, such as one that draws starting values.\n\n"
    "Returns\n-------\n"
    "Module\n"
    "    This module.\n\n"
    "Examples\n--------\n"
    ">>> def start(module):\n"
    "...     if isinstance(module, nn.Linear):\n"
    "...         nn.init.zeros_(module.bias)\n"
    ">>> nn.Sequential(nn.Linear(2, 2), nn.ReLU()).apply(start)[0].bias.tolist()\n"
    "[0.0, 0.0]";

const char rl_module_zero_grad_doc[] = "zero_grad($self, /, set_to_none=True)\n--\n\n"
                                       "Forget the gradients of all parameters.\n\n"
                                       "Parameters\n----------\n"
                                       "set_to_none : bool, default True\n"
                                       "    Let `grad` be None; otherwise fill it with zeros.";

const char rl_module_state_dict_doc[] =
    "state_dict($self, /, *args, destination=None, prefix='', keep_vars=False)\n--\n\n"
    "Return all parameters and persistent buffers by their dotted names.\n\n"
    "Parameters\n----------\n"
    "destination : dict, optional\n"
    "    Dict that is filled instead of a new one.\n"
    "prefix : str, default ''\n"
    "    What stands before all names.\n"
    "keep_vars : bool, default False\n"
    "    Give the parameters themselves instead of detached tensors, which share their memory.\n\n"
    "Returns\n-------\n"
    "OrderedDict\n"
    "    As `torch.save` writes it and `load_state_dict` takes it.\n\n"
    "Examples\n--------\n"
    ">>> {name: tensor.shape for name, tensor in nn.Linear(3, 2).state_dict().items()}\n"
    "{'weight': torch.Size([2, 3]), 'bias': torch.Size([2])}";

const char rl_module_load_state_dict_doc[] =
    "load_state_dict($self, /, state_dict, strict=True, assign=False, *, mismatched='raise')\n--\n\n"
    "Copy what a state dict holds into the parameters and buffers.\n\n"
    "Parameters\n----------\n"
    "state_dict : mapping\n"
    "    Names and tensors.\n"
    "strict : bool, default True\n"
    "    Raise for keys that are missing or that the module does not know.\n"
    "assign : bool, default False\n"
    "    Take the tensors over instead of copying them; parameters that are tied stay tied.\n"
    "mismatched : {'raise', 'report'}, default 'raise'\n"
    "    What to do with entries of another size: raise, or leave them out and report them (not in "
    "PyTorch).\n\n"
    "Returns\n-------\n"
    "named tuple\n"
    "    (missing_keys, unexpected_keys); its attribute `mismatched_keys` lists the entries left out, as\n"
    "    (key, size in the state dict, size here).\n\n"
    "Raises\n------\n"
    "RuntimeError\n"
    "    For keys that do not match, where `strict`, and for sizes that do not.\n"
    "TypeError\n"
    "    If `state_dict` is no mapping.\n"
    "ValueError\n"
    "    For another word as `mismatched`.\n\n"
    "Examples\n--------\n"
    ">>> layer = nn.Linear(2, 1)\n"
    ">>> layer.load_state_dict({\"weight\": torch.ones(1, 2), \"bias\": torch.zeros(1)})\n"
    "<All keys matched successfully>\n"
    ">>> layer.load_state_dict({\"weight\": torch.ones(1, 2)}, strict=False)\n"
    "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])";
