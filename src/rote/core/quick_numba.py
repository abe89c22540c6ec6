"""numba's compiler without the work that comes to nothing, for the same code.

What takes numba long and a program of many small kernels has no use for:

- A kernel that only others call is optimized and becomes machine code of its own, and both again as
  a part of each caller. Here a library is optimized, with all that it calls, and becomes machine
  code when an address in it is asked for.
- For every operation, numba tries all implementations of its operator until one accepts the types.
  Here the one that accepted the same types before comes first, and is the only one.
- It asks every instruction for its variables, some ten times, and looks for them in all that the
  instruction holds. Here what can hold none is known by its type.
- Before every function it imports all modules that implement something, by name, and asks each
  what is new. Here it imports once, and asks when there is more than before.
- After every pass it looks for the variables that are alive where a block begins. Here when that is
  asked for, which generators and Python's own objects do.
- It makes a way in from C to each of its own functions, and tells listeners of every call of LLVM.
  Here there is neither.

The functions that are replaced are the same in all versions named in `KNOWN`; another one is left
as it is, which costs seconds and no more. `kernels` installs this when the first kernel is defined.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numba
from numba.core.errors import NumbaError

# What is replaced has no types, or types of which its own code takes no notice.
_analysis: Any = import_module("numba.core.analysis")
_codegen: Any = import_module("numba.core.codegen")
_cpu: Any = import_module("numba.core.cpu")
_functions: Any = import_module("numba.core.types.functions")
_ir: Any = import_module("numba.core.ir")
_llvm: Any = import_module("llvmlite.binding.ffi")
_lives: Any = import_module("numba.core.postproc")
_ordered: Any = import_module("numba.core.utils").order_by_target_specificity
_target: Any = import_module("numba.core.target_extension").get_local_target
_templates: Any = import_module("numba.core.typing.templates")
_typing: Any = import_module("numba.core.typing.context")

_NOTHING, _VARIABLE, _INSTRUCTION, _SEVERAL, _NAMED = range(5)
_kinds: dict[type, int] = {}
"""What a value of a type is to an instruction of the compiler."""

KNOWN = ((0, 63), (0, 68))
"""The first and the last version whose compiler this was written for and tested with."""


def install() -> None:
    """Make numba quicker for the rest of this process."""
    if not KNOWN[0] <= numba.version_info.short <= KNOWN[1] or installed():
        return
    _codegen.JITCPUCodegen._library_class = _Library
    _codegen.JITCPUCodegen._waiting = {}
    _codegen.JITCPUCodegen.set_env = _set_env
    _functions.BaseFunction.get_call_type = _get_call_type
    _ir.Inst._rec_list_vars = _rec_list_vars
    _cpu.CPUContext.refresh = _refreshed(_cpu.CPUContext.refresh)
    _typing.Context.refresh = _refreshed(_typing.Context.refresh)
    _lives.PostProcessor.run = _post_process
    _ir.FunctionIR.get_block_entry_vars = _alive_at
    _templates._OverloadFunctionTemplate._get_jit_decorator = _decorator
    for enter, leave in list(_llvm.lib._lock._cblist):
        if enter.__module__ == "numba.core.base":
            _llvm.unregister_lock_callback(enter, leave)


def installed() -> bool:
    return bool(_codegen.JITCPUCodegen._library_class is _Library)


class _Library(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """Is optimized and becomes machine code when an address in it is asked for."""

    _made = False

    def _optimize_final_module(self) -> None:
        """Not yet: whoever takes it in optimizes it there."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _finalize_final_module(self) -> None:
        if self._object_caching_enabled and self._compiled_object:
            self._make()  # it comes from the cache
        else:
            self._finalize_dynamic_globals()
            self._finalized = True

    def _make(self) -> None:
        self._made = True
        if not (self._object_caching_enabled and self._compiled_object):
            super()._optimize_final_module()
            self._final_module.verify()
        self._dynamic_globals.clear()  # they are looked for again
        super()._finalize_final_module()
        waiting = self._codegen._waiting
        for variable in self._final_module.global_variables:
            if variable.name in waiting:
                _write_environment(self._codegen, variable.name, waiting.pop(variable.name))

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        if not self._made and self._defines(name):
            self._make()
        pointer: int = super().get_pointer_to_function(name)
        return pointer

    def _defines(self, name: str) -> bool:
        try:
            return not self._final_module.get_function(name).is_declaration
        except NameError:
            return False


def _rec_list_vars(instruction: Any, value: Any) -> list[Any]:
    """The variables in a value, in order; whether it may hold some is known by its type."""
    kind = _kinds.get(type(value))
    if kind is None:
        kind = _kinds[type(value)] = _kind_of(type(value))
    if kind == _VARIABLE:
        return [value]
    if kind == _INSTRUCTION:
        return list(value.list_vars())
    found: list[Any] = []
    for one in () if kind == _NOTHING else value.values() if kind == _NAMED else value:
        inside = _kinds.get(type(one))
        if inside == _VARIABLE:
            found.append(one)
        elif inside != _NOTHING:
            found += _rec_list_vars(instruction, one)
    return found


def _kind_of(kind: type) -> int:
    known = ((_ir.Var, _VARIABLE), (_ir.Inst, _INSTRUCTION), ((list, tuple), _SEVERAL))
    return next((n for one, n in (*known, (dict, _NAMED)) if issubclass(kind, one)), _NOTHING)


def _refreshed(refresh: Any) -> Any:
    """Before every function: what was added to the registries since the last time."""

    def refresh_if_new(context: Any) -> None:
        if context.__dict__.get("_known_size") != _size(context):
            refresh(context)
            context._known_size = _size(context)

    return refresh_if_new


def _size(context: Any) -> int:
    """How much is registered: for the compiler's back end also what its front end knows."""
    front = context.__dict__.get("typing_context")
    own = sum(
        len(getattr(registry, name))
        for registry, loader in context._registries.items()
        for name in loader.registry_items
    )
    return own + (_size(front) if front is not None else 0)


_post_process_all = _lives.PostProcessor.run


def _post_process(processor: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """As numba's, but for the variables that are alive where a block begins."""
    code = processor.func_ir
    if code.is_generator:
        _post_process_all(processor, emit_dels, extend_lifetimes)
        return
    code.blocks = _lives.transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = _lives.VariableLifetime(code.blocks)
    code.block_entry_vars.clear()
    code.generator_info = None
    if emit_dels:
        processor._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _alive_at(code: Any, block: Any) -> Any:
    """The variables that are alive where a block begins."""
    if not code.block_entry_vars:
        life = code.variable_lifetime
        found = _analysis.compute_live_variables(
            life.cfg, code.blocks, life.usedefs.defmap, life.deadmaps.combined
        )
        code.block_entry_vars.update({one: found[at] for at, one in code.blocks.items()})
    return code.block_entry_vars[block]


_decorator_of = _templates._OverloadFunctionTemplate._get_jit_decorator


def _decorator(template: Any) -> Any:
    """What makes a kernel of a function of numba's own: nobody calls it from C."""
    made = _decorator_of(template)
    return lambda **options: made(**{**options, "no_cfunc_wrapper": True})


_write_environment = _codegen.JITCPUCodegen.set_env


def _set_env(codegen: Any, name: str, environment: Any) -> None:
    """Tell code where the environment of one of its functions is, once there is code."""
    if codegen._engine.is_symbol_defined(name):
        _write_environment(codegen, name, environment)
    else:
        codegen._waiting[name] = environment


_search_all = _functions.BaseFunction.get_call_type


def _get_call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of an operation on these types, by the first template that accepts them."""
    known = function.__dict__.setdefault("_accepted", {})
    key = (args, tuple(kws.items()))
    templates = known.get(key)
    if templates is None:
        target = _target(context)
        order = _ordered(target, function.templates, fnkey=function.key[0])
        templates = [
            (template, literal)
            for template in order
            for literal in ((True, False) if template.prefer_literal else (False, True))
        ]
    plain_args = tuple(_functions._unlit_non_poison(one) for one in args)
    plain_kws = {name: _functions._unlit_non_poison(one) for name, one in kws.items()}
    function._depth += 1
    try:
        for template, literal in templates:
            asked = template(context)
            try:
                found = asked.apply(*((args, kws) if literal else (plain_args, plain_kws)))
            except NumbaError:
                continue
            if found is not None:
                known[key] = [(template, literal)]
                function._impl_keys[found.args] = asked.get_impl_key(found)
                return found
    finally:
        function._depth -= 1
    return _search_all(function, context, args, kws)  # to say why none does
