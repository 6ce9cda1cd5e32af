// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// recorded are the runs that the collector is told of: those on record and those in hand.
type recorded struct {
	records map[string]string
	hand    []string
	err     error
}

func (r recorded) Record(_ context.Context, _ run.Stack, id string) (run.Record, error) {
	digest, ok := r.records[id]
	if !ok && r.err == nil {
		return run.Record{}, run.ErrNotFound
	}
	return run.Record{Spec: run.Spec{Artifact: run.Artifact{Digest: digest}}}, r.err
}

func (r recorded) Artifacts() []string { return r.hand }

func TestOnlyArchivesThatNobodyRefersToGo(t *testing.T) {
	namespace, c, dir := apitest.Namespace(t), apitest.Client(t), t.TempDir()
	key, err := blob.LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "file://"+filepath.Join(dir, "blobs"), key)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, name := range []string{"unused", "source", "included", "applied", "last run", "current run", "planned", "in hand", "not on record"} {
		digest, _, err := blobs.PutArtifact(t.Context(), strings.NewReader(name), 100)
		if err != nil {
			t.Fatal(err)
		}
		digests[name] = digest
	}
	program := map[string]string{"main.tf": "# inline"}
	var packed strings.Builder
	if digests["inline"], err = archive.PackInline(program, &packed); err != nil {
		t.Fatal(err)
	}
	if _, _, err := blobs.PutArtifact(t.Context(), strings.NewReader(packed.String()), 1000); err != nil {
		t.Fatal(err)
	}
	hour := metav1.Duration{Duration: time.Hour}
	artifact := func(name string) *meta.Artifact {
		return &meta.Artifact{Digest: digests[name], Revision: "r", Path: "x", URL: "x", LastUpdateTime: metav1.Now()}
	}
	repository := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: sourcev1.GitRepositorySpec{URL: "https://git.test/x", Interval: hour}}
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: infrav1.TerraformSpec{Interval: hour, Inline: program}}
	for _, o := range []client.Object{repository, stack} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	repository.Status.Artifact, repository.Status.IncludedArtifacts = artifact("source"), []*meta.Artifact{artifact("included")}
	stack.Status.LastAppliedArtifact = &infrav1.ArtifactReference{Digest: digests["applied"], Revision: "r"}
	stack.Status.LastAppliedRun, stack.Status.Plan.RunID = "r1", "r2"
	stack.Status.CurrentRun = &infrav1.RunReference{ID: "r3", Operation: "plan", Status: "queued"}
	for _, o := range []client.Object{repository, stack} {
		if err := c.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	runs := recorded{records: map[string]string{"r1": digests["last run"], "r2": digests["planned"], "r3": digests["current run"]}, hand: []string{digests["in hand"]}}
	collector := &collector{reader: c, scheme: newScheme(), blobs: blobs, runs: runs,
		kinds: []string{"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"}}

	// What cannot be found out keeps everything.
	for sentence, broken := range map[string]func(*interceptedCollector){
		"the stacks cannot be listed":  func(b *interceptedCollector) { b.fails = "*v1alpha2.TerraformList" },
		"the sources cannot be listed": func(b *interceptedCollector) { b.fails = "*v1.BucketList" },
		"a run cannot be read":         func(b *interceptedCollector) { b.runs = recorded{err: errors.New("no disk")} },
	} {
		t.Run(sentence, func(t *testing.T) {
			b := interceptedCollector{runs: runs}
			broken(&b)
			copied := *collector
			copied.runs = b.runs
			copied.reader = interceptor.NewClient(c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if fmt.Sprintf("%T", list) == b.fails {
					return errors.New("no answer")
				}
				return c.List(ctx, list, opts...)
			}})
			if done, err := copied.collect(t.Context(), -time.Minute); err == nil || done.Deleted != 0 {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
	// The grace ends in a minute from now: nothing is kept only because it is young.
	done, err := collector.collect(t.Context(), -time.Minute)
	if err != nil || done.Deleted != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	kept := map[string]bool{}
	for name, digest := range digests {
		if kept[name], err = blobs.HasArtifact(t.Context(), digest); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{"unused": false, "not on record": false, "source": true, "included": true, "applied": true, "last run": true,
		"current run": true, "planned": true, "in hand": true, "inline": true}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Error(diff)
	}
}

// interceptedCollector says what is broken.
type interceptedCollector struct {
	fails string
	runs  recorded
}

// TestRevisionsOfStacksWithoutFinalizersGo: a stack whose finalizer somebody removed forgets nothing itself.
func TestRevisionsOfStacksWithoutFinalizersGo(t *testing.T) {
	namespace, c := apitest.Namespace(t), apitest.Client(t)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	stack := &infrav1.Terraform{ObjectMeta: meta("stack"), Spec: infrav1.TerraformSpec{Suspend: true, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "none"}}}
	bridge := &yubav1.ContractBridge{ObjectMeta: meta("bridge"), Spec: yubav1.ContractBridgeSpec{Direction: yubav1.BridgeIn, Contract: "base", Version: "1.0.0",
		Store: yubav1.BridgeStore{ConfigMap: &yubav1.ObjectStore{Name: "base"}}}}
	gone := stack.DeepCopy()
	gone.Name = "gone"
	for _, o := range []client.Object{stack, bridge, gone} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	stack.Status.OriginUID = "its-uid-before-it-was-moved"
	if err := c.Status().Update(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	lives, err := producers(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"its-uid-before-it-was-moved": true, string(stack.UID): true, string(bridge.UID): true}
	for salt := range want {
		if !lives[salt] {
			t.Errorf("%s lives, and is not in %v", salt, lives)
		}
	}
	if lives[string(gone.UID)] {
		t.Error("a deleted stack lives")
	}
}
