// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/yuba-dev/yuba/internal/policy/rego/wire"
)

// bundle is a compiled bundle with its queries, which are evaluated at the same time.
type bundle struct {
	queries []rego.PreparedEvalQuery
	wire.Loaded
}

// ruleNames are the names of rules, as Conftest has them.
var ruleNames = regexp.MustCompile(`^(deny|violation|warn)(_[a-zA-Z0-9_]+)?$`)

// load compiles a bundle.
func load(ctx context.Context, in *wire.Load) (*bundle, error) {
	modules, err := parse(in.Files, false)
	if err != nil {
		return nil, err
	}
	store, err := dataOf(in.Files)
	if err != nil {
		return nil, err
	}
	compiler, err := compile(ctx, modules, store, false)
	if err != nil {
		return nil, err
	}
	b := &bundle{}
	pkg, err := ast.ParseRef("data." + in.Package)
	if err != nil || !pkg.IsGround() {
		return nil, fmt.Errorf("the package %q is not a valid name", in.Package)
	}
	names := map[string]bool{}
	for _, rule := range compiler.GetRulesWithPrefix(pkg) {
		ref := rule.Ref().GroundPrefix()
		if len(ref) > len(pkg) {
			if name, ok := ref[len(pkg)].Value.(ast.String); ok && ruleNames.MatchString(string(name)) && len(rule.Head.Args) == 0 {
				names[string(name)] = true
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the package %s has no rule deny, violation or warn; its modules are %s", in.Package, described(modules))
	}
	b.Rules = slices.Sorted(maps.Keys(names))
	b.reads(compiler)
	parts := make([][]string, min(runtime.GOMAXPROCS(0), len(b.Rules)))
	for i, name := range append(slices.Clone(b.Rules), exceptionRule) {
		parts[i%len(parts)] = append(parts[i%len(parts)], name)
	}
	for _, rules := range parts {
		prepared, err := rego.New(rego.Query(query(pkg, rules)), rego.Compiler(compiler), rego.Store(store), rego.Capabilities(capabilities()),
			rego.StrictBuiltinErrors(true), rego.GenerateJSON(values)).PrepareForEval(ctx)
		if err != nil {
			return nil, explained(err)
		}
		b.queries = append(b.queries, prepared)
	}
	return b, nil
}

// exceptionRule is the rule with the names of rules that do not count.
const exceptionRule = "exception"

// query evaluates several rules, so that what they share is computed once. A comprehension makes a
// rule that is undefined an empty list.
func query(pkg ast.Ref, rules []string) string {
	var members []string
	for _, name := range rules {
		members = append(members, fmt.Sprintf("%q: [v | v := %s.%s]", name, pkg, name))
	}
	return "found := {" + strings.Join(members, ", ") + "}"
}

// compile compiles modules.
func compile(ctx context.Context, modules map[string]*ast.Module, store storage.Store, prints bool) (*ast.Compiler, error) {
	var compiler *ast.Compiler
	err := storage.Txn(ctx, store, storage.TransactionParams{}, func(txn storage.Transaction) error {
		compiler = ast.NewCompiler().WithCapabilities(capabilities()).WithEnablePrintStatements(prints).
			WithPathConflictsCheck(storage.NonEmpty(ctx, store, txn))
		compiler.Compile(modules)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if compiler.Failed() {
		return nil, explained(compiler.Errors)
	}
	return compiler, nil
}

// parse parses the modules of a bundle, each as Rego v1 or else as v0.
func parse(files map[string]string, tests bool) (map[string]*ast.Module, error) {
	modules := map[string]*ast.Module{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".rego" || !tests && strings.HasSuffix(name, "_test.rego") {
			continue
		}
		module, err := parseOne(name, files[name])
		if err != nil {
			return nil, explained(err)
		}
		if module != nil {
			modules[name] = module
		}
	}
	if len(modules) == 0 {
		return nil, errors.New("there are no files *.rego")
	}
	return modules, nil
}

func parseOne(name, text string) (*ast.Module, error) {
	options := ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: capabilities()}
	module, err := ast.ParseModuleWithOpts(name, text, options)
	if err == nil {
		return module, nil
	}
	options.RegoVersion = ast.RegoV0
	old, oldErr := ast.ParseModuleWithOpts(name, text, options)
	if oldErr == nil {
		return old, nil
	}
	// The version that the author meant is the one that reads further.
	if line(oldErr) > line(err) {
		return nil, oldErr
	}
	return nil, err
}

func line(err error) int {
	var list ast.Errors
	if errors.As(err, &list) && len(list) > 0 && list[0].Location != nil {
		return list[0].Location.Row
	}
	return 0
}

// dataOf returns the data of a bundle: each data.json or data.yaml is at the path of its directory.
func dataOf(files map[string]string) (storage.Store, error) {
	root := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch path.Base(name) {
		case "data.json", "data.yaml", "data.yml":
		default:
			continue
		}
		var value map[string]any
		if err := util.Unmarshal([]byte(files[name]), &value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		at := root
		if dir := path.Dir(name); dir != "." {
			for part := range strings.SplitSeq(dir, "/") {
				inner, ok := at[part].(map[string]any)
				if !ok {
					inner = map[string]any{}
					at[part] = inner
				}
				at = inner
			}
		}
		for key, v := range value {
			if _, twice := at[key]; twice {
				return nil, fmt.Errorf("%s: the data %q is there twice", name, key)
			}
			at[key] = v
		}
	}
	return inmem.NewFromObject(root), nil
}

// described lists modules with their packages.
func described(modules map[string]*ast.Module) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		all = append(all, name+" ("+modules[name].Package.String()+")")
	}
	if more := len(all) - 5; more > 0 {
		all = append(all[:5], strconv.Itoa(more)+" more")
	}
	return strings.Join(all, ", ")
}
