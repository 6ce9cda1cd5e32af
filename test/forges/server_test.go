// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package forges

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// patience limits everything that must happen at some time.
const patience = 90 * time.Second

// yuba is a server of the program in bin/.
type yuba struct {
	program, dir, http string
	args               []string
	cmd                *exec.Cmd
	log                proctest.Log
}

// start starts a server that ends with the test.
func start(t testing.TB) *yuba {
	t.Helper()
	bin := filepath.Join(tofutest.RepositoryRoot(t), "bin")
	y := &yuba{program: filepath.Join(bin, "yuba"), dir: t.TempDir()}
	api, err := proctest.FreeAddress()
	if err == nil {
		y.http, err = proctest.FreeAddress()
	}
	if err != nil {
		t.Fatal(err)
	}
	y.args = []string{"up", "--data-dir", y.dir, "--api-address", api, "--http-address", y.http, "--registry-address", "off", "--tofu", tofutest.Tofu(t), "-v"}
	y.launch(t)
	t.Cleanup(func() {
		y.stop()
		if err := proctest.End(y.dir); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("Yuba's log:\n", y.log.Tail())
		}
	})
	return y
}

func (y *yuba) launch(t testing.TB) {
	t.Helper()
	y.cmd = exec.Command(y.program, y.args...)
	if err := proctest.Start(y.cmd, "Yuba is ready", &y.log, patience); err != nil {
		t.Fatal(err)
	}
}

func (y *yuba) stop() {
	if y.cmd.ProcessState == nil {
		y.cmd.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
		y.cmd.Wait()                       //nolint:errcheck // its log is shown if the test fails
	}
}

// run runs a command, with a standard input.
func (y *yuba) run(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), y.program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(y.dir, "kubeconfig"))
	cmd.Stdin = strings.NewReader(stdin)
	var out, news bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &news
	if err := cmd.Run(); err != nil {
		t.Fatalf("yuba %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), news.String())
	}
	return out.String()
}

// apply applies manifests.
func (y *yuba) apply(t testing.TB, manifests string) {
	t.Helper()
	y.run(t, manifests, "kubectl", "apply", "-f", "-")
}

// planner reads the planner of the namespace.
func (y *yuba) planner(t testing.TB, ns string) (p yubav1.PullRequestPlanner) {
	t.Helper()
	if err := json.Unmarshal([]byte(y.run(t, "", "kubectl", "get", "pullrequestplanner", "-n", ns, "prs", "-o", "json")), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// pull is what the planner shows of a pull request.
func (y *yuba) pull(t testing.TB, ns string, number int) (p yubav1.PullRequestStatus) {
	t.Helper()
	for _, one := range y.planner(t, ns).Status.PullRequests {
		if int(one.Number) == number {
			return one
		}
	}
	return p
}

// field reads one field of a stack.
func (y *yuba) field(t testing.TB, ns, stack, path string) string {
	t.Helper()
	return y.run(t, "", "kubectl", "get", "terraform", "-n", ns, stack, "-o", "jsonpath={"+path+"}")
}
