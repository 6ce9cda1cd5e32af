// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// plainTofu is a root module whose state plain tofu keeps in the fixture's Secrets.
func (f *fixture) plainTofu(t *testing.T) *tofutest.Module {
	t.Helper()
	m := tofutest.NewModule(t)
	m.Write("backend.tf", f.backend())
	m.Write("main.tf", program)
	m.Run("init")
	return m
}

func (f *fixture) backend() string {
	return fmt.Sprintf("terraform {\n  backend \"kubernetes\" {\n    secret_suffix = %q\n    namespace = %q\n    config_path = %q\n  }\n}\n",
		f.key.Suffix, f.key.Namespace, apitest.API(f.t).Kubeconfig())
}

const program = `
variable "content" { type = string }
resource "terraform_data" "it" { input = var.content }
output "content" { value = terraform_data.it.output }
output "workspace" { value = terraform.workspace }
`

// localApply is what a run does: it puts the current state in place, applies with the local backend
// and returns the state that tofu wrote.
func localApply(t *testing.T, workspace, content string, current []byte) []byte {
	t.Helper()
	m := tofutest.NewModule(t)
	m.Write("main.tf", program)
	m.Run("init")
	place := "terraform.tfstate"
	if workspace != "default" {
		m.Run("workspace", "new", workspace)
		place = "terraform.tfstate.d/" + workspace + "/terraform.tfstate"
	}
	m.Write(place, string(current))
	m.Run("apply", "-auto-approve", "-var", "content="+content)
	return []byte(m.Run("state", "pull"))
}

func TestAStateGoesFromPlainTofuToYubaAndBack(t *testing.T) {
	f := newFixture(t)
	plain := f.plainTofu(t)
	for _, workspace := range []string{"default", "prod"} {
		if workspace != "default" {
			plain.Run("workspace", "new", workspace)
		}
		plain.Run("apply", "-auto-approve", "-var", "content=by plain tofu in "+workspace)
		f.key.Workspace = workspace

		adopted, err := f.Read(t.Context(), f.key)
		if err != nil {
			t.Fatal(err)
		}
		wantOutput(t, adopted.Data, "content", "by plain tofu in "+workspace)

		next := localApply(t, workspace, "by Yuba in "+workspace, adopted.Data)
		f.write("run", adopted.Mark(), next)

		if got := strings.TrimSpace(plain.Run("output", "-raw", "content")); got != "by Yuba in "+workspace {
			t.Errorf("plain tofu reads the output %q", got)
		}
		if got := plain.Run("state", "list"); got != "terraform_data.it\n" {
			t.Errorf("plain tofu lists %q", got)
		}
		if _, _, err := plain.Try("plan", "-detailed-exitcode", "-var", "content=by Yuba in "+workspace); err != nil {
			t.Errorf("plain tofu would change something: %v", err)
		}
		plain.Run("apply", "-auto-approve", "-var", "content=by plain tofu again")
		again, err := f.Read(t.Context(), f.key)
		if err != nil {
			t.Fatal(err)
		}
		if again.Lineage != adopted.Lineage || again.Serial <= adopted.Serial+1 {
			t.Errorf("lineage or serial: first %s, now %s", adopted.Mark(), again.Mark())
		}
	}
	if got := plain.Run("workspace", "list"); got != "  default\n* prod\n\n" {
		t.Errorf("workspaces: %q", got)
	}
}

func wantOutput(t *testing.T, data []byte, name, want string) {
	t.Helper()
	file, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := file.PrintedOutputs()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(outputs[name].Value); got != want {
		t.Errorf("output %s is %q, want %q", name, got, want)
	}
}

func TestOurSecretDiffersInNothingFromPlainTofus(t *testing.T) {
	f := newFixture(t)
	plain := f.plainTofu(t)
	plain.Run("apply", "-auto-approve", "-var", "content=x")
	theirs := f.secret()
	snapshot, err := f.Read(t.Context(), f.key)
	if err != nil {
		t.Fatal(err)
	}
	f.deleteSecret()
	f.write("run", snapshot.Mark(), snapshot.Data)
	unpacked := cmp.Transformer("unpack", func(data map[string][]byte) map[string]string {
		state, err := decompress(bytes.NewReader(data[dataKey]))
		if err != nil || len(data) != 1 {
			t.Errorf("data with %d keys: %v", len(data), err)
		}
		return map[string]string{dataKey: string(state)}
	})
	options := cmp.Options{
		cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "CreationTimestamp", "ManagedFields"),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Data" }, unpacked),
	}
	if diff := cmp.Diff(theirs, f.secret(), options); diff != "" {
		t.Errorf("(-tofu +ours):\n%s", diff)
	}
	if f.secret().Type != corev1.SecretTypeOpaque {
		t.Errorf("type %s", f.secret().Type)
	}
}

func TestOurLockStopsPlainTofu(t *testing.T) {
	f := newFixture(t)
	plain := f.plainTofu(t)
	plain.Run("apply", "-auto-approve", "-var", "content=x")
	f.lock(aLock)
	_, news, err := plain.Try("apply", "-auto-approve", "-var", "content=y")
	if err == nil || !strings.Contains(news, aLock.ID) || !strings.Contains(news, aLock.Who) {
		t.Errorf("plain tofu under our lock: %v\n%s", err, news)
	}
	plain.Run("force-unlock", "-force", aLock.ID)
	f.wantHolder(nil)
	plain.Run("apply", "-auto-approve", "-var", "content=y")
}

func TestPlainTofusLockStopsUs(t *testing.T) {
	f := newFixture(t)
	plain := f.plainTofu(t)
	answer, end := applyUntilAsked(t, plain)

	holder, err := f.Holder(t.Context(), f.key)
	if err != nil || holder == nil {
		t.Fatalf("holder: %+v, %v", holder, err)
	}
	err = f.Lock(t.Context(), f.key, aLock)
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("our lock under plain tofu's: %v", err)
	}
	info := locked.Info
	if info != *holder || info.Operation != "OperationTypeApply" || info.Who == "" || info.Version == "" || info.Created.IsZero() {
		t.Errorf("lock info: %+v", info)
	}
	answer("no")
	if err := end(); err == nil {
		t.Error("tofu applied although the answer was no")
	}
	f.wantHolder(nil)
	f.lock(aLock)
}

// applyUntilAsked starts an apply, which takes the lock, and returns when tofu asks whether to go
// on.
func applyUntilAsked(t *testing.T, m *tofutest.Module) (answer func(string), end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	command := m.Command(ctx, "apply", "-var", "content=x")
	questions, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []byte
	for part := make([]byte, 4096); !bytes.Contains(seen, []byte("Enter a value:")); {
		n, err := questions.Read(part)
		if seen = append(seen, part[:n]...); err != nil {
			t.Fatalf("tofu never asked: %v\n%s", err, seen)
		}
	}
	answer = func(text string) {
		if _, err := io.WriteString(answers, text+"\n"); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, questions)
	}
	return answer, command.Wait
}

func TestPlainTofuNeverTakesAPointerForNoState(t *testing.T) {
	f := newFixture(t)
	plain := f.plainTofu(t)
	plain.Run("apply", "-auto-approve", "-var", "content=small")
	small, err := f.Read(t.Context(), f.key)
	if err != nil {
		t.Fatal(err)
	}
	f.write("run", small.Mark(), aState(int(small.Serial)+1, noise(3<<20)))
	for _, command := range [][]string{{"state", "list"}, {"plan", "-var", "content=x"}, {"apply", "-auto-approve", "-var", "content=x"}} {
		if out, _, err := plain.Try(command...); err == nil {
			t.Errorf("tofu %q did not stumble:\n%s", command, out)
		}
	}
	if string(f.secret().Data[dataKey]) != pointerNote {
		t.Error("the pointer was overwritten")
	}
}

func TestAStateThatOpenTofuEncryptedIsReadOpaquely(t *testing.T) {
	f := newFixture(t)
	sealed := tofutest.NewModule(t)
	sealed.Copy("../statefile/testdata/encrypted")
	sealed.Write("backend.tf", f.backend())
	sealed.Run("init")
	sealed.Run("apply", "-auto-approve")
	snapshot, err := f.Read(t.Context(), f.key)
	if err != nil {
		t.Fatal(err)
	}
	if !snapshot.Encrypted || snapshot.Lineage == "" || bytes.Contains(snapshot.Data, []byte("terraform_data")) {
		t.Errorf("%s, encrypted %v", snapshot.Mark(), snapshot.Encrypted)
	}
	first := f.write("adoption", snapshot.Mark(), snapshot.Data)
	sealed.Run("apply", "-auto-approve", "-replace=terraform_data.hidden")
	f.rollback(first.ID)
	if got := strings.TrimSpace(sealed.Run("output", "-raw", "hidden")); got != "hidden" {
		t.Errorf("after the rollback plain tofu reads %q", got)
	}
}
