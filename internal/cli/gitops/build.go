// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// NewBuildCommand is "yuba build".
func NewBuildCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use:     "build",
		Short:   "Build a Kustomization from local files",
		Long:    "Build a Kustomization from local files, before you commit them.",
		Example: "  yuba build kustomization apps --path ./apps",
	}, newBuildKustomizationCommand(a))
}

func newBuildKustomizationCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "kustomization NAME --path DIR",
		Aliases: []string{"ks"},
		Short:   "Print the objects that a Kustomization would build from local files",
		Long: `Print the objects that a Kustomization would build from local files. The Kustomization comes from the API, or from
--kustomization-file. In both cases ConfigMaps and Secrets of the API provide variables; with --dry-run the command reads
nothing from the API, and uses only the variables of postBuild.substitute.

DIR is the directory that spec.path names in the source. The build can also use files beside it, up to the root of the source:
the root of the git repository, unless DIR ends with spec.path. The command changes no files. It does not decrypt
values that are encrypted with SOPS, and prints them as ` + decrypt.MaskText + `.`,
		Example: "  yuba build kustomization apps --path ./apps\n  yuba build kustomization apps --path ./apps --kustomization-file apps.yaml --dry-run",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(session.Kustomizations, false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	b := &builder{App: a}
	b.flags(cmd)
	cmd.Flags().BoolVar(&b.dryRun, "dry-run", false, "read nothing from the API; needs --kustomization-file")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		_, objects, err := b.build(cmd, args[0])
		if err != nil {
			return err
		}
		return a.WriteObjects(objects, out.Form)
	}
	return cmd
}

// builder builds local files as its flags say.
type builder struct {
	*session.App
	path, file     string
	dryRun, strict bool
	// api is the client, except with --dry-run.
	api client.Client
}

func (b *builder) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.path, "path", "", "the directory that spec.path names")
	cmd.Flags().StringVar(&b.file, "kustomization-file", "", "the file with the Kustomization, instead of the API's")
	cmd.Flags().BoolVar(&b.strict, "strict-substitute", true, "fail when a variable has neither a value nor a default, as the server does; off with --dry-run, unless set")
	// The command has both flags.
	_ = cmd.MarkFlagDirname("path")
	_ = cmd.MarkFlagFilename("kustomization-file", "yaml", "yml")
}

// build builds the directory of --path with the Kustomization.
func (b *builder) build(cmd *cobra.Command, argument string) (*kustomizev1.Kustomization, []*unstructured.Unstructured, error) {
	switch info, err := os.Stat(b.path); {
	case b.path == "":
		return nil, nil, ui.UsageErrorf(cmd, "--path is missing: the directory that spec.path names")
	case err != nil || !info.IsDir():
		return nil, nil, ui.UsageErrorf(cmd, "--path %s is not a directory", b.path)
	case b.dryRun && b.file == "":
		return nil, nil, ui.UsageErrorf(cmd, "--dry-run needs --kustomization-file: it does not read the Kustomization from the API")
	}
	k, err := b.kustomization(cmd, argument)
	if err != nil {
		return nil, nil, err
	}
	in := build.Input{Object: k.DeepCopy(), Strict: b.strict, KeepEncrypted: true}
	if b.dryRun {
		in.Strict = b.strict && cmd.Flags().Changed("strict-substitute")
	} else {
		in.Values = build.FromAPI(b.api)
	}
	if in.Dir, in.Object.Spec.Path, err = sourceOf(b.path, k.Spec.Path); err != nil {
		return nil, nil, err
	}
	built, err := build.Build(cmd.Context(), in)
	if err != nil {
		return nil, nil, fmt.Errorf("build Kustomization %s of %s: %w", argument, b.path, err)
	}
	for _, u := range built.Objects {
		decrypt.Mask(u.Object)
	}
	return k, built.Objects, nil
}

// kustomization is that of the file, with the status of the API's, or that of the API.
func (b *builder) kustomization(cmd *cobra.Command, argument string) (*kustomizev1.Kustomization, error) {
	namespace, name, both := strings.Cut(argument, "/")
	if !both {
		namespace, name = "", argument
	}
	if b.dryRun {
		if namespace == "" {
			namespace = b.NamespaceFlag()
		}
		return kustomizationIn(b.file, namespace, name)
	}
	s, err := b.Connect()
	if err != nil {
		return nil, err
	}
	key, err := s.Stack(cmd, argument)
	if err != nil {
		return nil, err
	}
	// Without a mapper this client asks the API which kinds it serves.
	if b.api, err = client.New(s.Config, client.Options{}); err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", s.Config.Host, err)
	}
	live := &kustomizev1.Kustomization{}
	err = s.GetAs(cmd.Context(), session.Kustomizations, key, live)
	switch {
	case b.file == "":
		return live, err
	case err != nil && !ui.IsNotFound(err):
		return nil, err
	}
	local, err := kustomizationIn(b.file, key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	local.Status = live.Status
	return local, nil
}

// kustomizationIn finds a Kustomization in a file. One without a namespace gets the given one.
func kustomizationIn(file, namespace, name string) (*kustomizev1.Kustomization, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the Kustomization: %w", err)
	}
	decoder := k8syaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)+1)
	for {
		k := &kustomizev1.Kustomization{}
		var head struct {
			metav1.TypeMeta   `json:",inline"`
			metav1.ObjectMeta `json:"metadata"`
		}
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil, ui.Exitf(ui.ExitNotFound, "%s has no Kustomization %s", file, strings.TrimPrefix(namespace+"/"+name, "/"))
		}
		if err == nil && len(raw.Raw) > 0 {
			err = yaml.Unmarshal(raw.Raw, &head)
		}
		if err != nil {
			return nil, fmt.Errorf("read the Kustomization of %s: %w", file, err)
		}
		if head.Kind != kustomizev1.KustomizationKind || head.GroupVersionKind().Group != kustomizev1.GroupVersion.Group || head.Name != name ||
			namespace != "" && head.Namespace != "" && head.Namespace != namespace {
			continue
		}
		if err := yaml.UnmarshalStrict(raw.Raw, k); err != nil {
			return nil, fmt.Errorf("read Kustomization %s of %s: %w", name, file, err)
		}
		if k.Namespace == "" {
			k.Namespace = namespace
		}
		return k, nil
	}
}

// sourceOf finds the root directory of the source, and the path of dir in it.
func sourceOf(dir, path string) (string, string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", "", fmt.Errorf("find %s: %w", dir, err)
	}
	if path = filepath.Join("/", path); path == "/" {
		return dir, "", nil
	}
	if root, is := strings.CutSuffix(dir, path); is && root != "" {
		return root, path, nil
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			return root, strings.TrimPrefix(dir, root), nil
		}
		if root == filepath.Dir(root) {
			return dir, "", nil
		}
	}
}
