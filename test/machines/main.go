// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	if err := run(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(name string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	switch name {
	case "pause": // what holds the namespaces of a Pod
		<-ctx.Done()
		return nil
	case "probe":
		return probe(ctx, args)
	case "systemctl":
		return systemctl(args)
	case "k3s":
		return k3s(ctx, args)
	}
	if len(args) < 2 {
		return errors.New("want serve DIR --kube-node PROGRAM [--images DIR], console DIR NAME, or clean DIR")
	}
	dir, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	switch verb := args[0]; {
	case verb == "serve":
		return serveCommand(ctx, dir, args[2:])
	case verb == "console" && len(args) == 3:
		text, err := os.ReadFile(filepath.Join(machineDir(dir, args[2]), "console.log"))
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(text)
		return err
	case verb == "clean":
		return (&host{dir: dir}).clean(ctx)
	case verb == "boot":
		return boot(dir)
	case verb == "cloud-init":
		return cloudInitCommand(dir)
	case verb == "service" && len(args) == 2:
		return superviseService(ctx, args[1])
	}
	return fmt.Errorf("there is no command %q", args[0])
}

func serveCommand(ctx context.Context, dir string, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "address to listen on")
	kubeNode := flags.String("kube-node", "", "the program kube-node")
	images := flags.String("images", "", "a directory with archives of images (*.tar), which new machines import before they run Pods")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kubeNode == "" {
		return errors.New("serve wants --kube-node PROGRAM. Build it:\n    make bin/kube-node")
	}
	program, err := filepath.Abs(*kubeNode)
	if err != nil {
		return err
	}
	h := &host{dir: dir, kubeNode: program, images: *images}
	return h.serve(ctx, *listen)
}
