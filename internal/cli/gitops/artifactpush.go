// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/publish"
)

type artifactPush struct {
	registry               registryFlags
	path, source, revision string
	annotations, ignore    []string
	reproducible           bool
}

// NewPushArtifactCommand is "yuba push artifact".
func NewPushArtifactCommand(a *session.App) *cobra.Command {
	var p artifactPush
	cmd := &cobra.Command{
		Use:   "artifact oci://HOST/REPOSITORY:TAG --path PATH --source URL --revision REVISION",
		Short: "Push a directory to an OCI registry, for OCIRepositories",
		Long: `Push a directory, or a file, to an OCI registry as an artifact for OCIRepositories, like "flux push artifact". The
same files, source and revision always have the same digest; the artifact contains the time only with
--reproducible=false, or as $SOURCE_DATE_EPOCH sets it.

The command always omits state files, .terraform, .git and links; Flux ignores links when it unpacks.

` + registryText,
		Example: "  yuba push artifact oci://registry.example.com/iac/network:1.4.0 --path ./network --source \"$(git config --get remote.origin.url)\" --revision \"1.4.0@sha1:$(git rev-parse HEAD)\"\n" +
			"  kustomize build . | yuba push artifact oci://registry.example.com/apps/web:main --path - --source . --revision main -o json",
		Args: ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVarP(&p.path, "path", "f", "", "the directory or file to push, or - for manifests from standard input (required)")
	flags.StringVar(&p.source, "source", "", "where the files come from, such as the repository's URL (required)")
	flags.StringVar(&p.revision, "revision", "", "the revision of the files, such as main@sha1:… (required)")
	flags.StringArrayVarP(&p.annotations, "annotations", "a", nil, "an annotation of the artifact as `KEY=VALUE`")
	flags.StringSliceVar(&p.ignore, "ignore-paths", nil, "patterns of files to ignore, as in .gitignore (default "+strings.Join(publish.DefaultIgnore(), ",")+")")
	flags.BoolVar(&p.reproducible, "reproducible", true, "omit the time from the artifact, so that the same files have the same digest")
	p.registry.add(cmd)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		options, err := p.options(cmd, a)
		if err != nil {
			return err
		}
		ctx, cancel := ui.WithTimeout(cmd)
		defer cancel()
		return pushArtifact(ctx, a, args[0], options, out)
	}
	return cmd
}

func (p *artifactPush) options(cmd *cobra.Command, a *session.App) (publish.PushOptions, error) {
	o := publish.PushOptions{Path: p.path, Source: p.source, Revision: p.revision}
	for _, required := range []struct{ flag, value, about string }{
		{"path", p.path, "name the directory to push"},
		{"source", p.source, `name the origin of the files, such as "$(git config --get remote.origin.url)"`},
		{"revision", p.revision, `name the revision of the files, such as "main@sha1:$(git rev-parse HEAD)"`},
	} {
		if required.value == "" {
			return o, ui.UsageErrorf(cmd, "--%s is missing: %s", required.flag, required.about)
		}
	}
	if p.path == "-" && p.registry.credsFile == "-" {
		return o, ui.UsageErrorf(cmd, "--path and --creds-file cannot both be standard input")
	}
	for _, annotation := range p.annotations {
		key, value, ok := strings.Cut(annotation, "=")
		if !ok || key == "" {
			return o, ui.UsageErrorf(cmd, "--annotations %q: want KEY=VALUE", annotation)
		}
		if o.Annotations == nil {
			o.Annotations = map[string]string{}
		}
		o.Annotations[key] = value
	}
	if cmd.Flags().Changed("ignore-paths") {
		o.Ignore = append([]string{}, p.ignore...)
	}
	if p.path == "-" {
		o.Stream = a.In
	}
	var err error
	if o.Created, err = p.created(cmd); err != nil {
		return o, err
	}
	o.Access, err = p.registry.access(cmd, a.Console)
	return o, err
}

func (p *artifactPush) created(cmd *cobra.Command) (time.Time, error) {
	if !p.reproducible {
		return time.Now(), nil
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, ui.UsageErrorf(cmd, "SOURCE_DATE_EPOCH is %q: want the seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0), nil
}

func pushArtifact(ctx context.Context, a *session.App, ref string, o publish.PushOptions, out *ui.Output) error {
	shown := a.NewProgress("Pushing")
	o.Progress = func(sent, _ int64) { shown.Reach(sent) }
	pushed, err := publish.Push(ctx, ref, o)
	shown.End()
	if err != nil {
		return artifactError(err)
	}
	if n := len(pushed.Links); n > 0 {
		a.News("Omitted links, which Flux ignores when it unpacks: %s", ui.SomeOf(pushed.Links, 5))
	}
	if out.Machine() {
		return out.Print(a.Out, pushed)
	}
	fmt.Fprintln(a.Out, pushed.URL)
	a.News("Pushed %s in %s as %s:%s.", ui.Count(pushed.Files, "file"), ui.Size(pushed.Size), pushed.Repository, pushed.Tag)
	return nil
}
