// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// older turns the programs of the example into those of the versions of its providers that the Go module proxy has, of 2020: resources
// have the same fields and no version in their names, and those of service accounts do not work with this Kubernetes.
var older = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\b(kubernetes_[a-z_]+)_v1\b`), "$1"},
	{regexp.MustCompile(`version = ">= [^"]+"`), `version = ">= 1.13"`},
	// It waits for the token that Kubernetes gave each account until 1.24, and crashes.
	{regexp.MustCompile(`(?s)resource "kubernetes_service_account" "domain" \{.*?\n\}\n`), ""},
	{regexp.MustCompile(`kubernetes_service_account\.domain\.metadata\[0\]\.name`), `"default"`},
}

// appliesAnEnvironment applies the environment "kubernetes" of examples/environments with the real providers, by name. Its images are of a
// shell: PostgreSQL and RabbitMQ only wait, and a component serves its environment.
func (w *world) appliesAnEnvironment() {
	w.t.Helper()
	for _, image := range []string{"docker.io/library/postgres:17", "docker.io/library/rabbitmq:4"} {
		w.importImage(image, nil, "sh", "-c", "exec sleep 100000")
	}
	for _, domain := range []string{"order", "inventory"} {
		w.importImage("registry.example.com/"+domain+":1", nil, "sh", "-c", "mkdir -p /www && env > /www/env && exec httpd -f -p 8080 -h /www")
	}
	w.object(`apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: machine, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
`)
	for _, server := range []string{"postgres", "rabbitmq"} {
		data := filepath.Join(w.dir, server)
		if err := os.Mkdir(data, 0o700); err != nil {
			w.t.Fatal(err)
		}
		w.object(volume(server, "data-"+server+"-0", "shop", data))
	}
	w.exampleOfEnvironments()
	// The doctor asks kubectl, which Yuba has.
	w.write(filepath.Join(w.dir, "bin", "kubectl"), "#!/bin/sh\nexec yuba kubectl \"$@\"\n")
	if err := os.Chmod(filepath.Join(w.dir, "bin", "kubectl"), 0o700); err != nil {
		w.t.Fatal(err)
	}

	w.mustEnv("doctor", "kubernetes")
	w.mustEnv("apply", "kubernetes", "--yes")
	w.say("the environment is applied, and all Pods are ready")
	w.mustEnv("plan", "kubernetes", "--detailed-exitcode")
	if out := w.mustEnv("output", "kubernetes", "entry_points"); !strings.Contains(out, "http://order-aggregate.shop.svc:8080") {
		w.t.Errorf("the entry points are %s", out)
	}
	password, err := base64.StdEncoding.DecodeString(w.kubectl("-n", "shop", "get", "secret", "postgres", "-o", "jsonpath={.data.password}"))
	if err != nil || len(password) != 32 {
		w.t.Fatalf("the password has %d characters: %v", len(password), err)
	}
	served := w.served("order-aggregate")
	for _, want := range []string{"INVENTORY_AGGREGATE_URL=http://inventory-aggregate.shop.svc:8080", "STORAGE_URI=postgres://app:" + string(password) + "@postgres.shop.svc:5432", "BUS_TYPE=amqp"} {
		if !strings.Contains(served, want+"\n") {
			w.t.Errorf("the environment of a component lacks %s", strings.ReplaceAll(want, string(password), "…"))
		}
	}
	w.say("a component serves, and knows the others")

	w.kubectl("-n", "shop", "delete", "deployment", "inventory-projector-stock")
	out, err := w.environment("plan", "kubernetes", "--detailed-exitcode")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(out, "inventory.kubernetes_deployment.component[\"projector-stock\"] will be created") {
		w.t.Errorf("a deleted Deployment is not missed: %v\n%s", err, out)
	}
	w.mustEnv("apply", "kubernetes", "--yes")
	w.mustEnv("plan", "kubernetes", "--detailed-exitcode")
	w.mustEnv("destroy", "kubernetes", "--yes")
	if out, err := w.run("", "yuba", "kubectl", "get", "namespace", "shop"); err == nil || !strings.Contains(out, "NotFound") {
		w.t.Errorf("the namespace is still there: %v: %s", err, out)
	}
	w.say("drift is found and repaired, and everything is destroyed again")
}

// exampleOfEnvironments copies the example, for the older providers.
func (w *world) exampleOfEnvironments() {
	w.t.Helper()
	dir := filepath.Join(w.dir, "environments")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(w.root, "examples", "environments"))); err != nil {
		w.t.Fatal(err)
	}
	changed := 0
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tf" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		now := string(text)
		for _, change := range older {
			now = change.from.ReplaceAllString(now, change.to)
		}
		if now == string(text) {
			return nil
		}
		changed++
		return os.WriteFile(path, []byte(now), 0o600)
	})
	if err != nil || changed == 0 {
		w.t.Fatalf("%d programs of the example are for other providers: %v", changed, err)
	}
	w.write(filepath.Join(dir, "environments", "kubernetes", "terraform.tfvars"), fmt.Sprintf("images     = { order = \"registry.example.com/order:1\", inventory = \"registry.example.com/inventory:1\" }\nnamespace  = \"shop\"\nkubeconfig = %q\n", w.readable()))
	w.write(w.readable(), w.inline)
}

// readable is a kubeconfig without other files, the only one that the providers may read.
func (w *world) readable() string { return filepath.Join(w.dir, "inline.kubeconfig") }

// environment runs "yuba env" in the example.
func (w *world) environment(args ...string) (string, error) {
	cmd := w.command("yuba", append([]string{"env"}, append(args, "--provider-mirror", *providers, "--readable", w.readable())...)...)
	cmd.Dir = filepath.Join(w.dir, "environments")
	cmd.Env = append(slices.Clone(w.env), "PATH="+filepath.Join(w.dir, "bin")+":"+filepath.Join(w.root, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustEnv is environment, and must succeed.
func (w *world) mustEnv(args ...string) string {
	w.t.Helper()
	out, err := w.environment(args...)
	if err != nil {
		w.t.Fatalf("yuba env %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// served is what a component says when it is asked.
func (w *world) served(service string) string {
	w.t.Helper()
	cmd := w.command("yuba", "kubectl", "-n", "shop", "port-forward", "service/"+service, ":8080")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	from, _ := strings.CutPrefix(line, "Forwarding from ")
	from, _, _ = strings.Cut(from, " ")
	if err != nil {
		w.t.Fatalf("port-forward says %q: %v", line, err)
	}
	client := &http.Client{Timeout: 30 * time.Second}
	answer, err := client.Get("http://" + from + "/env")
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("the component answers %d: %v", answer.StatusCode, err)
	}
	return string(text)
}
