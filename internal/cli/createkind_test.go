// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestSourcesAndKustomizationsAreCreated(t *testing.T) {
	ns := apitest.Namespace(t)
	yuba(t, ns, "create", "source", "git", "infra", "--url", "https://git.example.com/infra", "--tag-semver", ">=1.0.0", "--secret-ref", "git", "--ignore-paths", "/*,!/deploy").
		want(t, ui.ExitOK, "", "GitRepository/"+ns+"/infra is created.", "yuba reconcile source git "+ns+"/infra")
	yuba(t, ns, "create", "source", "oci", "network", "--url", "oci://registry.example.com/network", "--tag", "1.0.0", "--insecure", "-o", "name").want(t, ui.ExitOK, "ocirepository.source.toolkit.fluxcd.io/network\n")
	yuba(t, ns, "create", "source", "bucket", "plans", "--bucket-name", "plans", "--endpoint", "s3.example.com", "--provider", "aws").want(t, ui.ExitOK, "")
	yuba(t, ns, "create", "source", "module", "modules", "--url", "https://git.example.com/modules", "--module", "acme/vpc/aws=modules/vpc", "--module", "acme/dns/aws", "--tag-semver", ">=1").
		want(t, ui.ExitOK, "", "ModuleSource/"+ns+"/modules is created.", "yuba reconcile source module "+ns+"/modules")
	yuba(t, ns, "create", "source", "module", "bad", "--url", "https://git.example.com/modules", "--module", "Acme/vpc/aws").want(t, ui.ExitFailure, "", "spec.modules[0].name")
	yuba(t, ns, "create", "source", "module", "bad", "--url", "https://git.example.com/modules", "--module", "acme/vpc/aws=../vpc").want(t, ui.ExitFailure, "", "stays inside it")
	yuba(t, ns, "create", "source", "module", "bad", "--url", "https://git.example.com/modules").want(t, ui.ExitUsage, "", "--url and --module are required")
	yuba(t, ns, "suspend", "source", "module", "modules").want(t, ui.ExitOK, "")
	if got := yuba(t, ns, "get", "sources", "module", "modules", "-o", "yaml").out; !strings.Contains(got, "path: modules/vpc") || !strings.Contains(got, "suspend: true") || !strings.Contains(got, "semver: '>=1'") {
		t.Errorf("got %s", got)
	}
	yuba(t, ns, "create", "ks", "apps", "--source", "GitRepository/infra", "--path", "./apps", "--prune", "--wait", "--depends-on", "base/network", "--decryption-secret", "sops").want(t, ui.ExitOK, "")
	yuba(t, ns, "create", "ks", "apps", "--source", "GitRepository/infra").want(t, ui.ExitFailure, "", "it exists already. Change it:\n    yuba kubectl edit kustomizations apps -n "+ns)
	yuba(t, ns, "create", "source", "git", "bad", "--url", "ftp://example.com").want(t, ui.ExitFailure, "", "create GitRepository "+ns+"/bad", "spec.url")
	yuba(t, ns, "create", "source", "git", "bad").want(t, ui.ExitUsage, "", "--url is missing")
	yuba(t, ns, "create", "source", "git", "Bad", "--url", "https://example.com").want(t, ui.ExitUsage, "", "lowercase")
	yuba(t, ns, "create", "ks", "bad", "--source", "infra").want(t, ui.ExitUsage, "", "want KIND/NAME")
	yuba(t, ns, "create", "receiver", "push", "--type", "github", "--event", "ping,push", "--secret-ref", "token", "--resource", "GitRepository/infra,Terraform/vpc.team-a").want(t, ui.ExitOK, "")
	yuba(t, ns, "create", "receiver", "other", "--type", "github").want(t, ui.ExitUsage, "", "--type, --secret-ref and --resource are required")
	yuba(t, ns, "create", "alert-provider", "chat", "--type", "slack", "--channel", "infra", "--secret-ref", "slack").want(t, ui.ExitOK, "", "Provider/"+ns+"/chat is created.")
	yuba(t, ns, "create", "alert", "all", "--provider-ref", "chat", "--event-severity", "error", "--event-source", "Kustomization/*,Pod/x").want(t, ui.ExitUsage, "", `--event-source "Pod/x": want KIND/NAME`)
	yuba(t, ns, "create", "alert", "all", "--provider-ref", "chat", "--event-severity", "error", "--event-source", "Kustomization/*").want(t, ui.ExitOK, "")
	if got := yuba(t, ns, "get", "receivers", "push", "-o", "yaml").out; !strings.Contains(got, "- kind: Terraform\n      name: vpc\n      namespace: team-a\n") {
		t.Errorf("got %s", got)
	}
	if got := yuba(t, ns, "get", "gitrepositories", "infra", "-o", "yaml").out; !strings.Contains(got, "ignore: |-\n      /*\n      !/deploy\n") || !strings.Contains(got, "semver: '>=1.0.0'") {
		t.Errorf("got %s", got)
	}
}

func TestManifestsOfSourcesAreExported(t *testing.T) {
	out, news, code := yubaWithoutServer(t, "-n", "flux-system", "create", "kustomization", "apps", "--source", "OCIRepository/manifests.base", "--prune", "--export")
	called{out, news, code}.want(t, ui.ExitOK, `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 1h0m0s
  path: ./
  prune: true
  sourceRef:
    kind: OCIRepository
    name: manifests
    namespace: base
`)
	out, news, code = yubaWithoutServer(t, "create", "source", "git", "infra", "--url", "https://git.example.com/infra", "--branch", "main", "--recurse-submodules", "--export")
	called{out, news, code}.want(t, ui.ExitOK, `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: infra
  namespace: default
spec:
  interval: 1m0s
  recurseSubmodules: true
  ref:
    branch: main
  url: https://git.example.com/infra
`)
}
