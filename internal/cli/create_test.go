// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// yubaWithoutServer runs a command line where no server is known.
func yubaWithoutServer(t *testing.T, args ...string) (out, news string, code int) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	var stdout, stderr bytes.Buffer
	code = Execute(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

func TestAManifestIsExported(t *testing.T) {
	out, news, code := yubaWithoutServer(t, "create", "net/vpc", "--source", "GitRepository/infra.flux-system", "--path", "./vpc", "--interval", "15m",
		"--var", "cidr=10.0.0.0/16", "--vars-from", "Secret/cloud", "--depends-on", "dns", "--depends-on", "base/dns", "--write-outputs", "vpc-outputs",
		"--workspace", "prod", "--auto", "--destroy-on-deletion", "--export")
	if code != 0 {
		t.Fatalf("code %d: %s", code, news)
	}
	const want = `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata:
  name: vpc
  namespace: net
spec:
  approvePlan: auto
  dependsOn:
  - name: dns
  - name: dns
    namespace: base
  destroyResourcesOnDeletion: true
  interval: 15m0s
  path: ./vpc
  sourceRef:
    kind: GitRepository
    name: infra
    namespace: flux-system
  vars:
  - name: cidr
    value: 10.0.0.0/16
  varsFrom:
  - kind: Secret
    name: cloud
  workspace: prod
  writeOutputsToSecret:
    name: vpc-outputs
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

func TestStacksThatAreNotCreated(t *testing.T) {
	for sentence, test := range map[string]struct {
		args []string
		want string
	}{
		"no source":              {[]string{"vpc"}, "--source is missing"},
		"an unknown kind":        {[]string{"vpc", "--source", "HelmChart/a"}, "want KIND/NAME"},
		"a kind alone":           {[]string{"vpc", "--source", "Bucket"}, "want KIND/NAME"},
		"a name that is none":    {[]string{"No_Name", "--source", "Bucket/a"}, "No_Name: "},
		"a variable's name":      {[]string{"vpc", "--source", "Bucket/a", "--var", "x"}, "want NAME=VALUE"},
		"variables from nowhere": {[]string{"vpc", "--source", "Bucket/a", "--vars-from", "x"}, "want Secret/NAME or ConfigMap/NAME"},
		"a dependency's name":    {[]string{"vpc", "--source", "Bucket/a", "--depends-on", "/x"}, "want NAME or NAMESPACE/NAME"},
		"a form":                 {[]string{"vpc", "--source", "Bucket/a", "-o", "name"}, "--export writes json or yaml"},
	} {
		t.Run(sentence, func(t *testing.T) {
			out, news, code := yubaWithoutServer(t, append([]string{"create", "--export"}, test.args...)...)
			if code != ui.ExitUsage || out != "" || !strings.Contains(news, test.want) {
				t.Errorf("code %d, wrote %q, told %q", code, out, news)
			}
		})
	}
}
