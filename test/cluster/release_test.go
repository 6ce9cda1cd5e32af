// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// command runs a program of bin/ on the cluster and returns its output, and whether it succeeded.
func command(t *testing.T, input string, args ...string) (string, bool) {
	t.Helper()
	root := tofutest.RepositoryRoot(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", args[0]), args[1:]...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = root, strings.NewReader(input), &out, &out
	cmd.Env = append(os.Environ(), "KUBECONFIG="+*kubeconfig)
	err := cmd.Run()
	return out.String(), err == nil
}

func do(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, ok := command(t, input, args...)
	if !ok {
		t.Fatalf("%s:\n%s", strings.Join(args, " "), out)
	}
	return out
}

// setValues upgrades the release. Among its values is "resources: null", which removes a default:
// with --reuse-values, the schema sees the null.
func setValues(t *testing.T, values string) {
	t.Helper()
	do(t, "", "helm", "upgrade", "yuba", "charts/yuba", "--namespace", system, "--reuse-values", "--set-json", values, "--wait", "--timeout", "3m")
}

// restart replaces all controllers.
func restart(t *testing.T) {
	t.Helper()
	for _, p := range leaders(t) {
		kill(t, &p)
	}
}

// controllersLog is the log of all controllers, with those of their previous processes.
func controllersLog(t *testing.T) string {
	t.Helper()
	var list corev1.PodList
	must(t, api.List(t.Context(), &list, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": "yuba"}))
	var all strings.Builder
	for _, p := range list.Items {
		for _, previous := range []bool{true, false} {
			text, err := raw.CoreV1().Pods(system).GetLogs(p.Name, &corev1.PodLogOptions{Previous: previous}).DoRaw(t.Context())
			if err == nil { // the process exists
				all.Write(text)
			}
		}
	}
	return all.String()
}

// scaleFlux sets the number of Flux's controllers.
func scaleFlux(t *testing.T, replicas int32) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, name := range []string{"source-controller", "kustomize-controller"} {
		scale, err := raw.AppsV1().Deployments("flux-system").GetScale(ctx, name, metav1.GetOptions{})
		must(t, err)
		scale.Spec.Replicas = replicas
		_, err = raw.AppsV1().Deployments("flux-system").UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
		must(t, err)
	}
	eventually(t, "Flux's Pods are as many as wanted", func() string {
		pods, err := raw.CoreV1().Pods("flux-system").List(ctx, metav1.ListOptions{})
		must(t, err)
		if len(pods.Items) != 2*int(replicas) {
			return pods.String()
		}
		return ""
	})
}
