// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/app"
	"github.com/yuba-dev/yuba/internal/policy/rego"
	"github.com/yuba-dev/yuba/internal/policy/suite"
)

func init() { testers = append(testers, testRego) }

// testRego runs the tests of rules in Rego: those whose names begin with test_, in each directory
// among the paths that has files *.rego.
func testRego(ctx context.Context, paths []string, _ time.Time) ([]suite.Result, error) {
	var results []suite.Result
	var engine *rego.Engine
	for _, dir := range paths {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !hasRego(dir) {
			continue
		}
		if engine == nil {
			engine = rego.NewEngine(app.Beside)
			defer engine.Close()
		}
		bundle, err := rego.ReadBundle(os.DirFS(dir))
		if err != nil {
			results = append(results, suite.Result{File: dir, Name: "rules in Rego", Problems: []string{err.Error()}})
			continue
		}
		outcomes, err := engine.Test(ctx, bundle, "")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			results = append(results, suite.Result{File: dir, Name: "rules in Rego", Problems: []string{err.Error()}})
			continue
		}
		for i := range outcomes {
			results = append(results, resultOf(dir, &outcomes[i]))
		}
		if len(outcomes) == 0 {
			results = append(results, checkedRego(ctx, engine, bundle, dir))
		}
	}
	return results, nil
}

// checkedRego is the result for rules without tests: they are only compiled.
func checkedRego(ctx context.Context, engine *rego.Engine, bundle *rego.Bundle, dir string) suite.Result {
	result := suite.Result{File: dir, Name: "rules in Rego, without tests"}
	if _, err := engine.Load(ctx, bundle, rego.DefaultPackage); err != nil {
		result.Problems = []string{err.Error()}
	}
	return result
}

func resultOf(dir string, o *rego.Outcome) suite.Result {
	result := suite.Result{File: filepath.Join(dir, o.File), Name: strings.TrimPrefix(o.Package, "data.") + "." + o.Name}
	if !o.Failed || o.Skipped {
		return result
	}
	problem := o.Error
	if problem == "" {
		problem = fmt.Sprintf("%s:%d: the test is not true", o.File, o.Line)
	}
	result.Problems = append(result.Problems, problem)
	for line := range strings.Lines(o.Output) {
		result.Problems = append(result.Problems, "printed: "+strings.TrimRight(line, "\n"))
	}
	return result
}

// hasRego reports whether there is a module below a directory.
func hasRego(dir string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error { // ReadBundle reports errors
		if err == nil && entry.Type().IsRegular() && filepath.Ext(name) == ".rego" {
			found = true
			return filepath.SkipAll
		}
		if err == nil && entry.IsDir() && name != dir && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		return nil
	})
	return found
}
