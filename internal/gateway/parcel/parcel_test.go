// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package parcel_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/gateway/parcel"
	"github.com/yuba-dev/yuba/internal/kit/bundle"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

const (
	firstRun  = "20260102-030405.000-00000000aa"
	secondRun = "20260102-030406.000-00000000bb"
	versionID = "01767323045000000000-3"
)

// ownState is how records name the stack's state.
var ownState = run.StateRef{Namespace: "team", Workspace: "default", Suffix: "vpc", Stack: "vpc"}

// home is one home's stores.
type home struct {
	*parcel.Store
	blobs   *blob.Store
	subject parcel.Subject
}

func newHome(t testing.TB, uid string) *home {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.Open(t.Context(), "mem://", identity)
	if err != nil {
		t.Fatal(err)
	}
	stack := run.Stack{Namespace: "team", Name: "vpc", UID: uid}
	return &home{blobs: blobs, Store: &parcel.Store{Blobs: blobs, States: state.New(nil, blobs), MaxArtifact: 1 << 20, Version: "test"},
		subject: parcel.Subject{Stack: stack, State: &state.Key{Namespace: "team", Suffix: "vpc", UID: uid}, Needed: []string{firstRun},
			Ref: ownState, ServiceAccount: "runner", Audiences: []string{"cloud"}}}
}

// filled is a home with one version, two runs and an archive.
func filled(t testing.TB) *home {
	t.Helper()
	h := newHome(t, "uid-a")
	digest, _, err := h.blobs.PutArtifact(t.Context(), strings.NewReader("archive"), 100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.States.PutPacked(t.Context(), *h.subject.State, versionID, "uid-a", bytes.NewReader(packed(t, 3, "uid-a"))); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{firstRun, secondRun} {
		h.put(t, id, run.BlobLog, strings.Repeat(id+"\n", 100_000)) // several chunks
		h.put(t, id, run.BlobRecord, string(recordOf(t, h.subject.Stack, id, digest)))
	}
	h.put(t, firstRun, run.BlobPlan, "plan")
	h.put(t, firstRun, run.BlobPlanText, "text")
	if err := h.blobs.PutBytes(t.Context(), h.subject.Stack.LockFileKey(), []byte("lock file")); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *home) put(t testing.TB, id, part, text string) {
	t.Helper()
	if err := h.blobs.PutBytes(t.Context(), h.subject.Stack.Key(id, part), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func recordOf(t testing.TB, stack run.Stack, id, digest string) []byte {
	t.Helper()
	rec := run.Record{Spec: run.Spec{ID: id, Stack: stack, Artifact: run.Artifact{Digest: digest}, Workspace: "default",
		Backend: run.Backend{Kind: run.BackendManaged}, Env: []run.EnvVar{{Name: "KEY"}}, Limits: run.Limits{Network: run.HostNetwork}, ServiceAccount: "runner",
		Identities: []run.Identity{{Audience: "cloud"}, {Audience: run.RunnersAudience}}},
		State: ownState, PlanDigest: "sha256:" + sumOf("plan"), PlanSums: map[string]string{run.BlobPlan: sumOf("plan"), run.BlobPlanText: sumOf("text")}, Token: "secret", Runner: "r", LockHeld: true,
		Place: &run.Place{ServiceAccount: "admin"}, Config: "sha256:config", Result: &run.Result{Outcome: run.OutcomeSucceeded}}
	data, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sumOf(text string) string { return strings.TrimPrefix(statefile.Digest([]byte(text)), "sha256:") }

// packed is a version as it is stored.
func packed(t testing.TB, serial int, owner string) []byte {
	t.Helper()
	return packedState(t, fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"l","resources":[]}`, serial), owner)
}

func packedState(t testing.TB, content, owner string) []byte {
	t.Helper()
	data := []byte(content)
	note := fmt.Appendf(nil, `{"lineage":"l","digest":%q,"size":%d,"owners":[{"name":"vpc","uid":%q}]}`, statefile.Digest(data), len(data), owner)
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Extra = append(binary.LittleEndian.AppendUint16([]byte("Yb"), uint16(len(note))), note...)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (h *home) export(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := h.Write(t.Context(), &out, h.subject, parcel.Part{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestContentArrivesInAnotherHome(t *testing.T) {
	from, to := filled(t), newHome(t, "uid-b")
	for range 2 { // it may be repeated
		summary, err := to.Read(t.Context(), bytes.NewReader(from.export(t)), to.subject)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{versionID}, summary.Versions); diff != "" || summary.Artifacts != 1 || len(summary.Damaged) > 0 {
			t.Errorf("summary %+v, versions (-want +got):\n%s", summary, diff)
		}
		if diff := cmp.Diff([]string{firstRun, secondRun}, summary.Runs); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	}
	for _, c := range []struct{ id, part string }{{firstRun, run.BlobLog}, {secondRun, run.BlobLog}, {firstRun, run.BlobPlan}} {
		want, err := from.blobs.Get(t.Context(), from.subject.Stack.Key(c.id, c.part), 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		got, err := to.blobs.Get(t.Context(), to.subject.Stack.Key(c.id, c.part), 1<<30)
		if err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s of %s is %d bytes instead of %d (%v)", c.part, c.id, len(got), len(want), err)
		}
	}
	var rec run.Record
	data, err := to.blobs.Get(t.Context(), to.subject.Stack.Key(firstRun, run.BlobRecord), 1<<30)
	if err := errors.Join(err, json.Unmarshal(data, &rec)); err != nil {
		t.Fatal(err)
	}
	if rec.Spec.Stack != to.subject.Stack || rec.Token != "" || rec.Runner != "" || rec.LockHeld || rec.Place != nil || rec.Spec.Limits.Network != "" ||
		len(rec.Spec.Env) != 1 || len(rec.Spec.Identities) != 1 || rec.Spec.Identities[0].Audience != "cloud" || rec.Config != "sha256:config" {
		t.Errorf("the record is %+v", rec)
	}
	if again := to.export(t); len(again) == 0 {
		t.Error("it cannot be exported again")
	}
}

func TestOwnersOfVersionsAreTheStackHere(t *testing.T) {
	to := newHome(t, "uid-b")
	version, err := to.States.PutPacked(t.Context(), *to.subject.State, versionID, "uid-a", bytes.NewReader(packed(t, 3, "uid-a")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]state.Owner{{Name: "vpc", UID: "uid-b"}}, version.Owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// member is an entry of a hostile parcel.
type member struct{ name, content string }

func pack(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: m.name, Size: int64(len(m.content)), Mode: 0o600, ModTime: time.Unix(1, 0)}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sealed is a parcel with a manifest that matches.
func sealed(t testing.TB, members ...member) []byte {
	t.Helper()
	var manifest bundle.Manifest
	for _, m := range members {
		manifest.Members = append(manifest.Members, bundle.Member{Name: m.name, Size: int64(len(m.content)), SHA256: sumOf(m.content)})
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return pack(t, append(members, member{bundle.ManifestName, string(data)})...)
}

func TestReadRefuses(t *testing.T) {
	whole := filled(t).export(t)
	header := member{"yuba-stack.json", `{"format":1,"namespace":"team","name":"vpc","uid":"uid-a"}`}
	record := func(change func(*run.Record)) string {
		var rec run.Record
		if err := json.Unmarshal(recordOf(t, run.Stack{Namespace: "team", Name: "vpc", UID: "uid-a"}, firstRun, ""), &rec); err != nil {
			t.Fatal(err)
		}
		change(&rec)
		data, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for sentence, c := range map[string]struct {
		parcel []byte
		want   string
	}{
		"nothing":                        {nil, "does not begin with"},
		"something else":                 {[]byte(strings.Repeat("hello", 500)), "does not begin with"},
		"one that is cut":                {whole[:len(whole)/2], "truncated"},
		"one without a manifest":         {pack(t, header), "truncated"},
		"another stack":                  {pack(t, member{"yuba-stack.json", `{"format":1,"namespace":"team","name":"other"}`}), "not of team/vpc"},
		"a newer format":                 {pack(t, member{"yuba-stack.json", `{"format":2}`}), "newer Yuba"},
		"an unknown member":              {pack(t, header, member{"keys/blob.agekey", "x"}), "unknown member"},
		"a path out of the runs":         {pack(t, header, member{"runs/../../x/record.json", "{}"}), "unknown member"},
		"an unknown part of a run":       {pack(t, header, member{"runs/" + firstRun + "/token", "x"}), "unknown member"},
		"a version with a bad id":        {sealed(t, header, member{"states/../x", "x"}), "is not the id"},
		"a version that is no state":     {sealed(t, header, member{"states/" + versionID, "x"}), "not compressed"},
		"a version of another serial":    {sealed(t, header, member{"states/" + versionID, string(packed(t, 4, "u"))}), "another state"},
		"an archive with another digest": {sealed(t, header, member{"artifacts/" + strings.Repeat("0", 64), "x"}), "has digest"},
		"a run of another stack": {sealed(t, header, member{"runs/" + firstRun + "/record.json",
			record(func(r *run.Record) { r.Spec.Stack.Name = "db" })}), "of another stack"},
		"a run in progress":      {sealed(t, header, member{"runs/" + firstRun + "/record.json", record(func(r *run.Record) { r.Result = nil })}), "has not ended"},
		"a run under another id": {sealed(t, header, member{"runs/" + secondRun + "/record.json", record(func(*run.Record) {})}), "is that of run"},
		"a member twice":         {pack(t, header, member{"lock.hcl", "a"}, member{"runs/quiet/plan", "x"}, member{"lock.hcl", "b"}), "twice"},
		"a large lock file":      {pack(t, header, member{"lock.hcl", strings.Repeat("x", 5<<20)}), "larger than"},
		"a wrong manifest": {pack(t, header, member{"lock.hcl", "a"}, member{"manifest.json", `{"members":[{"name":"lock.hcl","size":1,"sha256":"00"}]}`}),
			"does not match"},
		"a member that the manifest lacks": {pack(t, header, member{"lock.hcl", "a"}, member{"manifest.json", `{}`}), "is not in the manifest"},
	} {
		t.Run(sentence, func(t *testing.T) {
			to := newHome(t, "uid-b")
			_, err := to.Read(t.Context(), bytes.NewReader(c.parcel), to.subject)
			var bad *parcel.BadError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestDamagedBlobsAreListed(t *testing.T) {
	from := filled(t)
	from.put(t, secondRun, run.BlobRecord, "{")
	to := newHome(t, "uid-b")
	summary, err := to.Read(t.Context(), bytes.NewReader(from.export(t)), to.subject)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"runs/" + secondRun}, summary.Damaged); diff != "" || len(summary.Runs) != 1 {
		t.Errorf("runs %v, damaged (-want +got):\n%s", summary.Runs, diff)
	}
}

// FuzzRead: no stream crashes the reader, and only whole parcels are accepted.
func FuzzRead(f *testing.F) {
	whole := filled(f).export(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/3])
	f.Fuzz(func(t *testing.T, data []byte) {
		to := newHome(t, "uid-b")
		to.Read(t.Context(), bytes.NewReader(data), to.subject) //nolint:errcheck // it must not crash
	})
}
