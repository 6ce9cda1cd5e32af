// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/yuba-dev/yuba/internal/policy/rego/wire"
)

// runTests runs the rules of a bundle whose names begin with test_.
func runTests(ctx context.Context, in *wire.Test) ([]wire.Outcome, error) {
	modules, err := parse(in.Files, true)
	if err != nil {
		return nil, err
	}
	store, err := dataOf(in.Files)
	if err != nil {
		return nil, err
	}
	// The runner compiles again; its errors are less clear.
	if _, err := compile(ctx, modules, store, true); err != nil {
		return nil, err
	}
	txn, err := store.NewTransaction(ctx, storage.WriteParams)
	if err != nil {
		return nil, err
	}
	defer store.Abort(ctx, txn)
	compiler := ast.NewCompiler().WithCapabilities(capabilities()).WithEnablePrintStatements(true)
	results, err := tester.NewRunner().SetCompiler(compiler).SetStore(store).SetModules(modules).CapturePrintOutput(true).
		RaiseBuiltinErrors(true).SetTimeout(in.Timeout).Filter(in.Run).SetParallel(1).RunTests(ctx, txn)
	if err != nil {
		return nil, explained(err)
	}
	outcomes := []wire.Outcome{}
	for r := range results {
		o := wire.Outcome{Package: r.Package, Name: r.Name, Duration: r.Duration, Failed: r.Fail, Skipped: r.Skip, Output: string(r.Output)}
		if r.Location != nil {
			o.File, o.Line = r.Location.File, r.Location.Row
		}
		if r.Error != nil {
			o.Failed, o.Error = true, failed(r.Error).Error()
		}
		if r.FailedAt != nil && r.FailedAt.Location != nil && o.Error == "" {
			o.Error = fmt.Sprintf("%s:%d: %s", r.FailedAt.Location.File, r.FailedAt.Location.Row, r.FailedAt.Location.Text)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}
