// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const rotateNamespace = "rotated"

// rotator rotates a secret that a stack reads.
type rotator struct {
	*yuba
	library string
}

// TestKillsDuringARotation: a secret is rotated, and after some random step each time the server is killed,
// or all processes and the command are. The value in use is never lost. The next command always completes the
// rotation, and then the stack has applied the new value, which is the only one.
func TestKillsDuringARotation(t *testing.T) {
	rng := rand.New(rand.NewPCG(newSeed(t), 27))
	y := newYuba(t)
	y.up()
	y.newNamespace(rotateNamespace)
	r := &rotator{yuba: y, library: t.TempDir()}
	r.create(t)
	interrupted := 0
	for i := range max(*killsFlag/4, 3) {
		old := r.values(t)["database"]
		began := time.Now()
		said, completed := r.rotateAndKill(t, rng, i%2 == 0)
		r.awaitReady()
		now := r.values(t)
		if !slices.Contains([]string{now["database"], now["database_previous"], now["database_retired"]}, old) && r.applied(t) == hashOf(old) {
			t.Fatalf("round %d: the stack uses a value that is lost; see %s", i, y.base)
		}
		if !completed {
			interrupted++
			r.complete(t)
		}
		now = r.values(t)
		if now["database"] == old || len(now) != 1 {
			t.Fatalf("round %d: the Secret has %d values, the first one was replaced: %t; see %s", i, len(now), now["database"] != old, y.base)
		}
		if r.applied(t) != hashOf(now["database"]) {
			t.Fatalf("round %d: the stack has applied another value; see %s", i, y.base)
		}
		t.Logf("round %d: all processes %t, killed after %q, the command completed nevertheless %t, %v until it was complete", i, i%2 == 0, said, completed, time.Since(began).Round(time.Millisecond))
	}
	t.Logf("%d of the rotations were interrupted", interrupted)
	if interrupted == 0 {
		t.Error("no kill interrupted a rotation")
	}
}

// create writes the environment, its first secret and a stack that reads it.
func (r *rotator) create(t *testing.T) {
	t.Helper()
	dir := filepath.Join(r.library, "environments", "staging")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"main.tf":      "# an environment\n",
		"secrets.yaml": "store: {kubernetes: {namespace: " + rotateNamespace + ", name: shop}}\nsecrets: {database: {password: {length: 24}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := r.secrets(t, "init", "staging").CombinedOutput(); err != nil {
		t.Fatalf("yuba secrets init: %v\n%s", err, out)
	}
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: rotateNamespace, Name: "shop"}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, ApprovePlan: "auto",
		VarsFrom:             []infrav1.VarsReference{{Kind: "Secret", Name: "shop"}},
		WriteOutputsToSecret: &infrav1.WriteOutputsToSecretSpec{Name: "shop-out"},
		Inline: map[string]string{"main.tf": `
variable "database" {
  type      = string
  sensitive = true
}
variable "database_previous" {
  type      = string
  sensitive = true
  default   = null
}
resource "terraform_data" "account" { input = sha256(var.database) }
output "hash" { value = nonsensitive(terraform_data.account.output) }
`}}}
	if err := r.client().Create(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	if got, want := r.applied(t), hashOf(r.values(t)["database"]); got != want {
		t.Fatalf("the stack has applied %s, want %s", got, want)
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (r *rotator) secrets(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "yuba"), append([]string{"secrets", "--library", r.library}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig)
	return cmd
}

// rotateAndKill kills the server a moment after the command has said a random line; with all, it kills the
// command and all processes of Yuba. It returns that line, and whether the command succeeded.
func (r *rotator) rotateAndKill(t *testing.T, rng *rand.Rand, all bool) (said string, completed bool) {
	t.Helper()
	line, later := 1+rng.IntN(3), time.Duration(rng.IntN(200))*time.Millisecond
	cmd := r.secrets(t, "rotate", "staging", "database")
	news, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(news)
	for n := 0; n < line && lines.Scan(); n++ {
		said = lines.Text()
	}
	time.Sleep(later)
	r.signalServer(syscall.SIGKILL)
	if all {
		cmd.Process.Kill() //nolint:errcheck // it may have ended already
		for _, p := range r.processes() {
			if p.PID != r.serverPID() || p.Program != "yuba" {
				syscall.Kill(p.PID, syscall.SIGKILL) //nolint:errcheck // it may be gone already
			}
		}
	}
	_, _ = io.Copy(io.Discard, news)
	return said, cmd.Wait() == nil
}

// complete repeats the command, as a person would, until it succeeds.
func (r *rotator) complete(t *testing.T) {
	t.Helper()
	err := insist(t.Context(), "complete the rotation", func(context.Context) error {
		r.awaitReady()
		var said bytes.Buffer
		cmd := r.secrets(t, "rotate", "staging")
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, said.Bytes())
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v; see %s", err, r.base)
	}
}

// values are those of the secret by part.
func (r *rotator) values(t *testing.T) map[string]string {
	t.Helper()
	values := map[string]string{}
	for key, value := range r.secret(t, "shop").Data {
		values[key] = string(value)
	}
	return values
}

// applied is the hash of the value that the stack has applied.
func (r *rotator) applied(t *testing.T) string {
	t.Helper()
	return string(r.secret(t, "shop-out").Data["hash"])
}

// secret reads a Secret as soon as it is there and the API answers.
func (r *rotator) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	err := insist(t.Context(), "read the Secret "+name, func(ctx context.Context) error {
		return r.client().Get(ctx, client.ObjectKey{Namespace: rotateNamespace, Name: name}, s)
	})
	if err != nil {
		t.Fatalf("%v; see %s", err, r.base)
	}
	return s
}
