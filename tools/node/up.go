// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// up starts a node in a directory and waits until it is Ready. If the directory's node works, it only waits.
func up(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	earlier, err := look(ctx, dir)
	if err != nil {
		return err
	}
	switch verb, err := decide(earlier); {
	case err != nil:
		return err
	case verb == keep:
		return awaitNode(ctx, dir)
	}
	if err := clear(ctx, earlier); err != nil {
		return fmt.Errorf("remove what an earlier node left: %w", err)
	}
	if err := checkRules(ctx); err != nil {
		return err
	}
	// What an earlier node of this directory left, its certificates among it, does not fit a new one.
	for _, old := range []string{"pki", "etcd", "containerd-state", "cni-leases", "kubelet"} {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			return err
		}
	}
	if err := writePKI(filepath.Join(dir, "pki")); err != nil {
		return err
	}
	if err := writeFiles(dir); err != nil {
		return err
	}
	if err := addLink(ctx, dir); err != nil {
		return err
	}
	for _, p := range parts(dir) {
		if err := p.start(dir); err != nil {
			return fmt.Errorf("start %s: %w", p.name, err)
		}
		if err := p.await(ctx, dir); err != nil {
			return fmt.Errorf("%s does not answer (its log: %s): %w", p.name, p.log(dir), err)
		}
	}
	if err := os.Symlink(filepath.Join("pki", "admin.kubeconfig"), filepath.Join(dir, "admin.kubeconfig")); err != nil && !os.IsExist(err) {
		return err
	}
	return awaitNode(ctx, dir)
}

func ip(ctx context.Context, args ...string) error { return command(ctx, "ip", args...) }

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (p part) log(dir string) string { return filepath.Join(dir, p.name+".log") }

// start starts the part in a session of its own, so that it outlives this process.
func (p part) start(dir string) error {
	log, err := os.OpenFile(p.log(dir), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	program, args := p.program, p.args
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return err
		}
		args = append([]string{p.name}, args...)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return record(dir, p.name, cmd.Process.Pid)
}

// await waits until what the next parts need of this one is there.
func (p part) await(ctx context.Context, dir string) error {
	switch p.name {
	case "etcd":
		return retry(ctx, func() error { return dial("tcp", etcdClients) })
	case "apiserver":
		return retry(ctx, func() error { return isServed(ctx, dir) })
	case "containerd":
		if err := retry(ctx, func() error { return dial("unix", socket(dir)) }); err != nil {
			return err
		}
		return importPause(ctx, dir)
	}
	return nil
}

// isServed fails unless the API server is ready.
func isServed(ctx context.Context, dir string) error {
	client, err := newClient(dir)
	if err != nil {
		return err
	}
	return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

func dial(network, address string) error {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// retry calls f until it succeeds, and returns its last error when ctx ends.
func retry(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func newClient(dir string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "pki", "admin.kubeconfig"))
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// awaitNode waits until Pods can run: the node is Ready, and the default namespace has its service account.
func awaitNode(ctx context.Context, dir string) error {
	client, err := newClient(dir)
	if err != nil {
		return err
	}
	return retry(ctx, func() error {
		node, err := client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := isReady(node); err != nil {
			return err
		}
		_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// isReady fails unless the kubelet has said that the node is Ready.
func isReady(node *corev1.Node) error {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
		if c.Type == corev1.NodeReady {
			return fmt.Errorf("the node is not Ready: %s", c.Message)
		}
	}
	return errors.New("the kubelet has not reported the node's condition Ready yet")
}
