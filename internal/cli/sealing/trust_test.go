// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// Nothing is read or asked before the person has said whom they trust.
func TestRestoreAsksWhoseSignatureIsTrusted(t *testing.T) {
	cmd := newRestoreCommand(&session.App{})
	var out bytes.Buffer
	cmd.SetArgs([]string{"missing.archive", "--signer", "SHA256:a", "--unsigned"})
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "unsigned") {
		t.Errorf("both: %v", err)
	}
	if err := trusts(&readFlags{}, false, "a"); err == nil || !strings.Contains(err.Error(), "--signer") {
		t.Errorf("neither: %v", err)
	}
	for _, f := range []struct {
		readFlags
		unsigned bool
	}{{readFlags{signer: "SHA256:a"}, false}, {readFlags{}, true}} {
		if err := trusts(&f.readFlags, f.unsigned, "a"); err != nil {
			t.Error(err)
		}
	}
}

func TestTheQuestionSaysAsWhomAStackRuns(t *testing.T) {
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "vpc\x1b[2K"}, Spec: infrav1.TerraformSpec{
		ServiceAccountName: "root", Path: "./x", SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "infra", Namespace: "evil"}}}
	text := describe(stack)
	for _, want := range []string{`namespace "prod"`, `service account "root"`, `"GitRepository" "infra" of namespace "evil"`, `"./x"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if strings.ContainsRune(text, 0x1b) {
		t.Errorf("it has control characters: %q", text)
	}
	stack.Spec.ServiceAccountName, stack.Spec.SourceRef = "", nil
	if text := describe(stack); !strings.Contains(text, infrav1.DefaultServiceAccount) || !strings.Contains(text, "own manifest") {
		t.Error(text)
	}
}
