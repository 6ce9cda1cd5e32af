// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kube-node:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want up DIR, down DIR, kill DIR PART, start DIR PART, image DIR NAME PROGRAM, or a part and its arguments")
	}
	verb, rest := args[0], args[1:]
	switch verb {
	case "up", "down":
		if len(rest) != 1 {
			return fmt.Errorf("%s wants one directory", verb)
		}
		dir, err := filepath.Abs(rest[0])
		if err != nil {
			return err
		}
		if verb == "down" {
			return down(dir)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		return up(ctx, dir)
	case "kill", "start":
		if len(rest) != 2 {
			return fmt.Errorf("%s wants a directory and a part", verb)
		}
		dir, err := filepath.Abs(rest[0])
		if err != nil {
			return err
		}
		return onPart(dir, verb, rest[1])
	case "image":
		if len(rest) != 3 {
			return errors.New("image wants a directory, the image's name and a program")
		}
		return importProgram(context.Background(), rest[0], rest[1], rest[2], filepath.Base(rest[2]))
	case "etcd":
		return serveEtcd(rest)
	case "dns":
		os.Args = append([]string{verb}, rest...)
		coremain.Run()
		return nil
	}
	parts := map[string]func() *cobra.Command{
		"apiserver":          apiserver.NewAPIServerCommand,
		"controller-manager": controllermanager.NewControllerManagerCommand,
		"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":            func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
		"proxy":              proxy.NewProxyCommand,
	}
	part, ok := parts[verb]
	if !ok {
		return fmt.Errorf("there is no part %q", verb)
	}
	command := part()
	command.SetArgs(rest)
	if code := cli.Run(command); code != 0 {
		return fmt.Errorf("%s ended with exit code %d", verb, code)
	}
	return nil
}
