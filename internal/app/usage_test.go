// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	gateway "github.com/yuba-dev/yuba/internal/gateway/registry"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

const registryHost = "yuba.example.com"

var vpcRelease = layout.ModuleVersion{Module: layout.Module{Namespace: "acme", Name: "vpc", System: "aws"}, Version: "1.2.0"}

// usageEngine has a registry with a module, a blob store and nothing else of an engine.
func usageEngine(t *testing.T) *engine {
	t.Helper()
	dir := t.TempDir()
	key, err := blob.LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{opts: Common{Log: slog.New(slog.DiscardHandler)}, registry: &registryParts{server: gateway.New(gateway.Options{Host: registryHost})}}
	if e.blobs, err = blob.Open(t.Context(), "file://"+filepath.Join(dir, "blobs"), key); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.blobs.Close() }) //nolint:errcheck // the test is over
	bucket, err := blob.OpenPlain(t.Context(), "file://"+filepath.Join(dir, "registry"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bucket.Close() }) //nolint:errcheck // the test is over
	if e.registry.modules, err = catalog.Open(t.Context(), bucket, catalog.Options{Spool: dir}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.registry.modules.Publish(t.Context(), vpcRelease, tarOf(t, "main.tf", "resource \"terraform_data\" \"a\" {}\n"), catalog.PublishOptions{By: "alice"}); err != nil {
		t.Fatal(err)
	}
	e.usage = newUsageKeeper(e)
	e.usage.index.Load(nil)
	return e
}

func tarOf(t *testing.T, name, text string) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	w := tar.NewWriter(packed)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	for _, end := range []func() error{w.Close, packed.Close} {
		if err == nil {
			err = end()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

func vpcUses() *run.Uses {
	return &run.Uses{Modules: []run.UsedModule{{Key: "vpc", Source: registryHost + "/acme/vpc/aws", Version: "1.2.0", Constraint: "~> 1.2"}}}
}

func appliedVPC(id string) run.Record {
	rec := run.Record{Result: &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true}, Applied: true, Finished: time.Now(), Uses: vpcUses()}}
	rec.Spec.ID, rec.Spec.Stack = id, run.Stack{Namespace: "team", Name: "net", UID: "1"}
	return rec
}

// A notice reaches the stack, its runs and the metrics, and goes when it is withdrawn.
func TestNoticesReachTheUsersOfAVersion(t *testing.T) {
	e := usageEngine(t)
	rec := appliedVPC("r1")
	e.usage.observe(rec)
	if got := e.usage.notices(rec.Spec.Stack); got != nil {
		t.Errorf("before: %q", got)
	}
	notice := &catalog.Notice{Kind: catalog.Revoked, Reason: "it leaks\nthe name.", By: "alice", At: time.Now()}
	if _, err := e.registry.modules.Mark(t.Context(), vpcRelease, notice); err != nil {
		t.Fatal(err)
	}
	want := []string{"Uses acme/vpc/aws 1.2.0, which is revoked: it leaks the name. Newer versions: yuba registry outdated"}
	if got := e.usage.notices(rec.Spec.Stack); !slices.Equal(got, want) {
		t.Errorf("of the stack: %q", got)
	}
	if got := e.usage.noticesOf(*rec.Result.Uses); !slices.Equal(got, want) {
		t.Errorf("of a run: %q", got)
	}
	if got := e.moduleUses(); len(got) != 1 || got[0].Stacks != 1 || got[0].Notice != "revoked" || got[0].Module != "acme/vpc/aws" {
		t.Errorf("metrics: %+v", got)
	}
	q, err := usage.ParseQuery("acme/vpc/aws", e.ownHosts()...)
	if err != nil {
		t.Fatal(err)
	}
	users := e.usage.index.Users(q, within("team"))
	if e.usage.index.Mark(t.Context(), e.releases, users); len(users) != 1 || users[0].Notice == nil || users[0].Notice.By != "alice" {
		t.Errorf("users: %+v", users)
	}
	if _, err := e.registry.modules.Mark(t.Context(), vpcRelease, nil); err != nil {
		t.Fatal(err)
	}
	if got := e.usage.notices(rec.Spec.Stack); got != nil {
		t.Errorf("after: %q", got)
	}
}

// Passes that find nothing new are not stored; what they tell is in memory.
func TestOnlyWhatChangesIsStored(t *testing.T) {
	e := usageEngine(t)
	stored := func() (entry usage.Entry) {
		t.Helper()
		e.usage.write(t.Context())
		data, err := e.blobs.Get(t.Context(), "uses/team/net/1", 1<<20)
		if err == nil {
			err = json.Unmarshal(data, &entry)
		}
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	e.usage.observe(appliedVPC("r1"))
	first := stored()
	if first.LastRun != "r1" || first.Applied == nil || first.Applied.Uses[0].Constraint != "~> 1.2" {
		t.Errorf("%+v", first)
	}
	quiet := appliedVPC("r2")
	quiet.Quiet, quiet.Result.Applied, quiet.Result.Plan.Changes = true, false, false
	e.usage.observe(quiet)
	if len(e.usage.dirty) != 0 {
		t.Errorf("stored again: %+v", e.usage.dirty)
	}
	if now, _ := e.usage.index.Entry("team", "net"); now.LastRun != "r2" || !now.Applied.Uses[0].Since.Equal(first.Applied.Uses[0].Since) {
		t.Errorf("%+v", now)
	}
	by := appliedVPC("r3")
	by.Spec.Operation, by.Result.Uses = run.OperationShell, nil
	e.usage.observe(by)
	if now, _ := e.usage.index.Entry("team", "net"); now.LastRun != "r2" {
		t.Error("a shell counts as a run of the stack")
	}
}
