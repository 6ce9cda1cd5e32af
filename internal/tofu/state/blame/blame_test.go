// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type history struct {
	t      testing.TB
	blobs  *blob.Store
	states *state.Store
	key    state.Key
	mark   state.Mark
	serial int
}

func newHistory(t testing.TB) *history {
	t.Helper()
	dir := t.TempDir()
	identity, err := blob.LoadOrCreateKey(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	h := &history{t: t, key: state.Key{Namespace: apitest.Namespace(t), Suffix: "vpc"}}
	if h.blobs, err = blob.Open(t.Context(), "file://"+filepath.Join(dir, "blobs"), identity); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.blobs.Close() })
	h.states = state.New(apitest.Client(t), h.blobs)
	return h
}

// add writes a version with the resource's attributes; none without the resource. more is further text.
func (h *history) add(attributes, more string) {
	h.t.Helper()
	h.serial++
	resources := more
	if attributes != "" {
		resources = fmt.Sprintf(`{"module":"module.m[\"k.1\"]","mode":"managed","type":"x","name":"one","provider":"provider[\"registry.opentofu.org/a/x\"]","instances":[{"index_key":0,"schema_version":0,"attributes":%s,"sensitive_attributes":[[{"type":"get_attr","value":"password"}]]}]}`, attributes)
		if more != "" {
			resources += "," + more
		}
	}
	data := fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":%d,"lineage":"l","outputs":{},"resources":[%s]}`, h.serial, resources)
	v, err := h.states.Write(h.t.Context(), h.key, state.WriteRequest{Data: data, Previous: h.mark, RunID: fmt.Sprintf("r%d", h.serial)})
	if err != nil {
		h.t.Fatal(err)
	}
	h.mark = v.Mark()
}

const target = `module.m["k.1"].x.one[0]`

// events are those of a target, as KIND@RUN WAS -> IS.
func (h *history) events(text string, all bool) (list []string) {
	h.t.Helper()
	to, err := ParseTarget(text)
	if err != nil {
		h.t.Fatal(err)
	}
	answer, err := Of(h.t.Context(), h.states, h.key, to, all)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range answer.Events {
		list = append(list, fmt.Sprintf("%s@%s %s -> %s", e.Kind, e.Version.RunID, e.Was, e.Is))
	}
	return list
}

func TestWhoChangedAnAttribute(t *testing.T) {
	h := newHistory(t)
	h.add("", "")
	h.add(`{"size":1,"tags":{"Name":"a","a.b":"c"},"password":"geheim"}`, "")
	h.add(`{"size":2,"tags":{"Name":"a","a.b":"c"},"password":"geheim"}`, "")
	h.add(`{"size":2,"tags":{"Name":"b","a.b":"c"},"password":"geheim"}`, "")
	h.add(`{"size":1,"tags":{"Name":"b","a.b":"c"},"password":"other1"}`, "")
	h.add("", "")
	h.add(`{"size":1,"tags":{"Name":"b","a.b":"c"},"password":"other1"}`, "")
	for what, want := range map[string][]string{
		".size":        {"created@r7  -> 1", "removed@r6 1 -> ", "changed@r5 2 -> 1", "changed@r3 1 -> 2", "created@r2  -> 1"},
		".tags.Name":   {`created@r7  -> "b"`, `removed@r6 "b" -> `, `changed@r4 "a" -> "b"`, `created@r2  -> "a"`},
		`.tags["a.b"]`: {`created@r7  -> "c"`, `removed@r6 "c" -> `, `created@r2  -> "c"`},
		".password":    {"created@r7  -> (sensitive value)", "removed@r6 (sensitive value) -> ", "changed@r5 (sensitive value) -> (sensitive value)", "created@r2  -> (sensitive value)"},
		".nothing":     nil,
	} {
		if got := h.events(target+what, true); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
		}
		if got := h.events(target+what, false); len(want) > 0 && !slices.Equal(got, want[:1]) {
			t.Errorf("the last change of %s: %q", what, got)
		}
	}
	if got := h.events(target, false); len(got) != 1 || strings.Contains(got[0], "other1") || !strings.Contains(got[0], "created@r7") {
		t.Errorf("the resource: %q", got)
	}
}

func TestTheOldestVersionIsAnEvent(t *testing.T) {
	h := newHistory(t)
	h.add(`{"size":1}`, "")
	h.add(`{"size":1}`, `{"mode":"managed","type":"x","name":"other","provider":"p","instances":[]}`)
	if got := h.events(target+".size", false); !slices.Equal(got, []string{"first known@r1  -> 1"}) {
		t.Errorf("%q", got)
	}
}

// TestAVersionThatDoesNotParse: a provider, or tofu itself, wrote something that Yuba does not know. The
// versions around it are still an answer, and what is not about the resource does not matter.
func TestAVersionThatDoesNotParse(t *testing.T) {
	h := newHistory(t)
	h.add(`{"size":1}`, "")
	h.add("", `{"module":"module.m[\"k.1\"]","mode":"managed","type":"x","name":"one","provider":"p","instances":"many"}`)
	h.add(`{"size":2}`, `{"mode":"managed","type":"x","name":"odd","provider":"p","instances":"many"}`)
	to, err := ParseTarget(target + ".size")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := Of(t.Context(), h.states, h.key, to, true)
	if err != nil || answer.Read != 2 || answer.Damaged != 1 || len(answer.Events) != 2 {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestOnlySomeQuestionsAtOnce(t *testing.T) {
	h := newHistory(t)
	h.add(`{"size":1}`, "")
	to, err := ParseTarget(target + ".size")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDesk(h.states, 1)
	d.places <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Of(ctx, h.key, to, false); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "busy with 1 such") {
		t.Error(err)
	}
	<-d.places
	for range 2 { // each gives its place back
		if answer, err := d.Of(t.Context(), h.key, to, false); err != nil || len(answer.Events) != 1 {
			t.Errorf("%+v, %v", answer, err)
		}
	}
}

func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"x.a": "x.a|", "x.a.size": "x.a|size", "x.a[0].list[2].n": "x.a[0]|list 2 n", `data.x.a["k"].tags["a.b"]`: `data.x.a["k"]|tags a.b`,
		`module.m.module.n["a.b"].x.a`: `module.m.module.n["a.b"].x.a|`, "module.m[0].data.x.a.b": "module.m[0].data.x.a|b",
		"": "!", "x": "!", "module.m": "!", "x.a[": "!", "x.a[var.b]": "!", "data.x": "!",
	} {
		got := "!"
		if to, err := ParseTarget(text); err == nil {
			got = to.Address + "|" + strings.Join(to.Path, " ")
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestBlameOver500Versions: the attribute changed in the second of 500 versions, so that all are read.
// The limit of docs/benchmarks.md is one second; the test allows more for machines that are busy.
func TestBlameOver500Versions(t *testing.T) {
	h := newHistory(t)
	var others []string
	for i := range 100 {
		others = append(others, fmt.Sprintf(`{"mode":"managed","type":"x","name":"n%d","provider":"provider[\"registry.opentofu.org/a/x\"]","instances":[{"schema_version":0,"attributes":{"id":"id-%d","size":%d,"tags":{"Name":"n","team":"t"}},"dependencies":["x.n0"]}]}`, i, i, i))
	}
	more := strings.Join(others, ",")
	h.add(`{"size":1}`, more)
	for range 499 {
		h.add(`{"size":2}`, more)
	}
	began, busy := time.Now(), cpu(t)
	got := h.events(target+".size", false)
	took, used := time.Since(began), cpu(t)-busy
	if !slices.Equal(got, []string{"changed@r2 1 -> 2"}) {
		t.Errorf("%q", got)
	}
	t.Logf("500 versions of 100 resources: %v, CPU %v (of the whole process)", took, used)
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// cpu is the time that this process has used.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{"x.a", `module.m["a"].data.x.y[0].tags["b.c"]`, "module.m[0]", "x.a[1.5].b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		to, err := ParseTarget(text)
		if err != nil {
			return
		}
		again, err := ParseTarget(to.Address)
		if err != nil || again.Address != to.Address || len(again.Path) > 0 {
			t.Errorf("%q becomes %q: %+v, %v", text, to.Address, again, err)
		}
	})
}
