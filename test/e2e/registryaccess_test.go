// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// elsewhere runs yuba on a machine that has neither the kubeconfig nor the data directory: it knows
// the registry's host, its certificate authority and a token.
func (r *ownRegistry) elsewhere(t *testing.T, ca, token string, args ...string) (out, news string, code int) {
	t.Helper()
	args = append(args, "--server", "https://"+r.host)
	if ca != "" {
		args = append(args, "--certificate-authority", ca)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "yuba"), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "YUBA_TOKEN=" + token}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// mayIn asks "kubectl auth can-i" whether a token's account may do something. It refuses answers with
// warnings: kubectl warns about resources that discovery does not list.
func (r *ownRegistry) mayIn(t *testing.T, account, verb, what string) string {
	t.Helper()
	out, news, _ := r.run(t, "kubectl", "auth", "can-i", verb, what, "--as", "system:serviceaccount:yuba-system:"+account)
	if strings.Contains(strings.ToLower(news), "warning") {
		t.Errorf("can-i %s %s: %s", verb, what, news)
	}
	return strings.TrimSpace(out)
}

// TestTokensOfTheRegistry makes tokens with rights by namespace, and uses them on a machine that has
// nothing else, with the real API behind the registry.
func TestTokensOfTheRegistry(t *testing.T) {
	r := withRegistry(t)
	r.push(t, "1.0.0")
	// Without the binding for everybody, the rights of the tokens decide.
	if err := r.client.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "yuba:registry-reader"}}); err != nil {
		t.Fatal(err)
	}
	create := func(args ...string) string {
		out, _ := r.do(t, append([]string{"registry", "token", "create"}, args...)...)
		return strings.TrimSpace(out)
	}
	create("keeper", "--keys", "acme")
	reader, writer, other := create("reader", "--read", "acme"), create("writer", "--write", "acme"), create("other", "--read", "beta")
	if list, _ := r.do(t, "registry", "token", "list"); !strings.Contains(list, "writer") || !strings.Contains(list, "yuba-system/registry-writer") {
		t.Errorf("the list of tokens:\n%s", list)
	}
	for question, want := range map[[3]string]string{
		{"registry-writer", "update", "modules.content.yuba.dev/acme"}:  "yes",
		{"registry-writer", "patch", "providers.content.yuba.dev/acme"}: "yes",
		{"registry-writer", "get", "mirror.content.yuba.dev"}:           "yes",
		{"registry-writer", "update", "modules.content.yuba.dev/beta"}:  "no",
		{"registry-reader", "get", "modules.content.yuba.dev/acme"}:     "yes",
		{"registry-reader", "update", "modules.content.yuba.dev/acme"}:  "no",
		// Publishing does not include deciding whose signatures are accepted.
		{"registry-writer", "get", "signingkeys.content.yuba.dev/acme"}:    "yes",
		{"registry-writer", "update", "signingkeys.content.yuba.dev/acme"}: "no",
		{"registry-keeper", "update", "signingkeys.content.yuba.dev/acme"}: "yes",
	} {
		if got := r.mayIn(t, question[0], question[1], question[2]); got != want {
			t.Errorf("may %s %s %s: %s, want %s", question[0], question[1], question[2], got, want)
		}
	}

	ca := filepath.Join(t.TempDir(), "ca.pem")
	authority, _ := r.do(t, "registry", "ca")
	if err := os.WriteFile(ca, []byte(authority), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("output \"is\" {\n  value = 1\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what, ca, token string
		args            []string
		want            string // empty means success
	}{
		{"a reader reads", ca, reader, []string{"registry", "versions", "acme/vpc/aws"}, ""},
		{"a reader does not publish", ca, reader, []string{"registry", "push", dir, "acme/new/aws@1.0.0"}, "registry-reader may not update modules"},
		{"a writer publishes in its namespace", ca, writer, []string{"registry", "push", dir, "acme/new/aws@1.0.0"}, ""},
		{"a writer does not publish in another", ca, writer, []string{"registry", "push", dir, "beta/new/aws@1.0.0"}, "registry-writer may not update modules \"beta\""},
		{"who reads another namespace does not read this one", ca, other, []string{"registry", "versions", "acme/vpc/aws"}, "registry-other may not get modules \"acme\""},
		{"a token that nobody has", ca, "nonsense", []string{"registry", "versions", "acme/vpc/aws"}, "the token is not valid"},
		{"a writer does not add keys", ca, writer, []string{"registry", "keys", "add", "acme", filepath.Join(dir, "main.tf")}, "yuba registry token create NAME --keys acme"},
		{"an unknown authority", "", reader, []string{"registry", "versions", "acme/vpc/aws"}, "--certificate-authority"},
	} {
		out, news, code := r.elsewhere(t, test.ca, test.token, test.args...)
		if (code == 0) != (test.want == "") || !strings.Contains(news, test.want) {
			t.Errorf("%s: exit %d\n%s%s", test.what, code, out, news)
		}
		if strings.Contains(news, test.token) {
			t.Errorf("%s: the message has the token:\n%s", test.what, news)
		}
	}

	// A deleted token is refused once the registry's memory ends, ten seconds later.
	r.do(t, "registry", "token", "delete", "writer")
	began := time.Now()
	r.eventually(t, "the deleted token is refused", func() string {
		_, news, code := r.elsewhere(t, ca, writer, "registry", "versions", "acme/vpc/aws")
		if code != 0 && strings.Contains(news, "the token is not valid") {
			return ""
		}
		return fmt.Sprintf("exit %d: %s", code, news)
	})
	if took := time.Since(began); took > 30*time.Second { // ten, and a busy machine
		t.Errorf("it took %s", took)
	}
	if _, news, code := r.elsewhere(t, ca, reader, "registry", "versions", "acme/vpc/aws"); code != 0 {
		t.Errorf("another token: %s", news)
	}
	if strings.Contains(r.logText(), writer) {
		t.Error("the log has a token")
	}
}
