// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/plugin"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// NewKubectlCommand is "yuba kubectl".
func NewKubectlCommand(a *session.App) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [ARGUMENT]...",
		Short: "Run the built-in kubectl on Yuba's API",
		Long: `Run the kubectl that is part of this program, with the kubeconfig of the other commands. All arguments after "kubectl" are
kubectl's.`,
		Example:            "  yuba kubectl get terraforms -A\n  yuba kubectl explain terraform.spec\n  yuba kubectl apply -f stack.yaml",
		DisableFlagParsing: true,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeKubectl(a, cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := takeOwnFlags(a, cmd, args)
			if err != nil {
				return err
			}
			return runInside(a, cmd, args)
		},
	}
}

// takeOwnFlags removes leading flags of yuba. Those after kubectl's command are kubectl's.
func takeOwnFlags(a *session.App, cmd *cobra.Command, args []string) ([]string, error) {
	own := map[string]*string{"--data-dir": &a.DataDir, "--color": &a.Color}
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		target, ok := own[name]
		if !ok {
			break
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return nil, ui.UsageErrorf(cmd, "%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		*target = value
	}
	return args, nil
}

// runInside runs kubectl in this process, with the kubeconfig in $KUBECONFIG.
func runInside(a *session.App, cmd *cobra.Command, args []string) error {
	if path, ok := a.HomeKubeconfig(); ok {
		usual := clientcmd.NewDefaultClientConfigLoadingRules().Precedence
		files := strings.Join(append([]string{path}, usual...), string(os.PathListSeparator))
		if a.DataDir != "" {
			files = path
		}
		if err := os.Setenv(clientcmd.RecommendedConfigPathEnvVar, files); err != nil {
			return fmt.Errorf("name the kubeconfig to kubectl: %w", err)
		}
	}
	if os.Getenv("KUBERNETES_MASTER") == "" {
		// Without this, kubectl would connect to localhost:8080 if there is no kubeconfig.
		clientcmd.ClusterDefaults = clientcmdapi.Cluster{}
	}
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(300).WithDiscoveryQPS(50)
	flags.WithWrapConfigFn(func(config *rest.Config) *rest.Config {
		if *flags.BearerToken == "" {
			session.UseToken(config, strings.TrimSpace(os.Getenv(session.TokenVariable)), "")
		}
		return config
	})
	inner := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: kubectl.NewDefaultPluginHandler(plugin.ValidPluginFilenamePrefixes),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     genericiooptions.IOStreams{In: a.In, Out: a.Out, ErrOut: a.Err},
	})
	if inner.Annotations == nil {
		inner.Annotations = map[string]string{}
	}
	inner.Annotations[cobra.CommandDisplayNameAnnotation] = "yuba kubectl"
	inner.SetArgs(args)
	inner.SetOut(a.Out)
	inner.SetErr(a.Err)
	inner.SilenceErrors, inner.SilenceUsage = true, true
	// kubectl ends the process when a command fails; return its message and code instead.
	var ended error
	cmdutil.BehaviorOnFatal(func(message string, code int) {
		switch {
		case strings.Contains(message, clientcmd.ErrEmptyConfig.Error()) || strings.Contains(message, genericclioptions.ErrEmptyConfig.Error()):
			ended = ui.Exitf(ui.ExitFailure, "%s", session.NoYubaText)
			panic(kubectlEnded{})
		case message != "":
			a.News("%s", strings.TrimRight(message, "\n"))
		}
		ended = ui.WithCode(code, errors.New(""))
		panic(kubectlEnded{})
	})
	err := runKubectl(func() error { return inner.ExecuteContext(cmd.Context()) })
	if ended != nil {
		return ended
	}
	return err
}

func completeKubectl(a *session.App, cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	args, err := takeOwnFlags(a, cmd, args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var answer bytes.Buffer
	asking := *a
	asking.Console = &ui.Console{In: a.In, Out: &answer, Err: io.Discard, Interrupted: a.Interrupted, Color: a.Color}
	if err := runInside(&asking, cmd, slices.Concat([]string{cobra.ShellCompRequestCmd}, args, []string{word})); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	lines := strings.Split(strings.TrimSpace(answer.String()), "\n")
	last := len(lines) - 1
	directive, err := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}

// kubectlEnded is the panic that leaves kubectl.
type kubectlEnded struct{}

func runKubectl(run func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil, kubectlEnded:
		default:
			panic(r)
		}
	}()
	return run()
}
