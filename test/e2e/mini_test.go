package e2e

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/yuba-dev/yuba/internal/runner"
	"github.com/yuba-dev/yuba/internal/server"
)

func miniMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	fs := flag.NewFlagSet("x", flag.ExitOnError)
	var o runner.Options
	var u server.UpOptions
	fs.StringVar(&o.Dir, "dir", "", "")
	fs.StringVar(&o.WorkRoot, "work", "", "")
	fs.StringVar(&o.ProviderMirror, "provider-mirror", "", "")
	fs.StringVar(&o.Tofu, "tofu", "", "")
	fs.StringVar(&o.Sandbox, "sandbox", "", "")
	fs.IntVar(&o.Capacity, "capacity", 2, "")
	fs.StringVar(&u.DataDir, "data-dir", "", "")
	fs.StringVar(&u.APIAddress, "api-address", "", "")
	fs.StringVar(&u.HTTPAddress, "http-address", "", "")
	fs.Bool("v", false, "")
	fs.Parse(os.Args[2:])
	var err error
	if os.Args[1] == "runner" {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
		err = runner.Run(context.Background(), o)
	} else {
		u.Tofu = o.Tofu
		u.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
		u.Out = os.Stdout
		err = server.Up(ctx, u)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
