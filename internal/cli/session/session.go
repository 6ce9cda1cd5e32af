// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

// Session is a way into one API.
type Session struct {
	*App
	Config    *rest.Config
	Objects   client.WithWatch
	Content   *content.Client
	Namespace string
}

// FieldOwner names this program as the manager of fields that it sets.
const FieldOwner = client.FieldOwner("yuba-cli")

// StackKind is the kind of all stacks.
var StackKind = infrav1.GroupVersion.WithKind("Terraform")

// Connect makes a session without a request to the API.
func (a *App) Connect() (*Session, error) {
	config, namespace, err := configOf(a.loader())
	if err != nil {
		return nil, err
	}
	return a.connectTo(config, namespace)
}

// configOf reads a kubeconfig. The API has its own fairness between clients: throttling here only
// adds seconds. It records the name of the client with each object that this writes, which package
// adopt reads.
func configOf(loader clientcmd.ClientConfig) (config *rest.Config, namespace string, err error) {
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", err
	}
	config.QPS, config.UserAgent = -1, "yuba/"+version.String()
	namespace, _, err = loader.Namespace()
	return config, namespace, err
}

func (a *App) connectTo(config *rest.Config, namespace string) (*Session, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := errors.Join(infrav1.AddToScheme(scheme), appv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register the kinds: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	addKinds(mapper)
	objects, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	bytes, err := content.NewClient(config)
	if err != nil {
		return nil, err
	}
	return &Session{App: a, Config: config, Objects: objects, Content: bytes, Namespace: namespace}, nil
}

// loader finds the kubeconfig: of --kubeconfig, of --data-dir, of $KUBECONFIG, of the default data
// directory, else ~/.kube/config.
func (a *App) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	if path, ok := a.HomeKubeconfig(); ok && a.kubeconfig == "" {
		if a.DataDir != "" {
			rules.ExplicitPath = path
		}
		// Keep the other files, so that their contexts can still be named.
		rules.Precedence = append([]string{path}, rules.Precedence...)
	}
	return a.loaderOf(rules)
}

func (a *App) loaderOf(rules *clientcmd.ClientConfigLoadingRules) clientcmd.ClientConfig {
	return withToken{clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &a.overrides), a}
}

// HomeKubeconfig is the kubeconfig that "yuba up" wrote, and whether commands use it.
func (a *App) HomeKubeconfig() (string, bool) {
	path := filepath.Join(a.DataDirectory(), "kubeconfig")
	if a.DataDir != "" {
		return path, true
	}
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		return "", false
	}
	_, err := os.Stat(path)
	return path, err == nil
}

// DataDirVariable is the environment variable with the data directory.
const DataDirVariable = "YUBA_DATA_DIR"

// DataDirectory is the data directory of "yuba up".
func (a *App) DataDirectory() string {
	if a.DataDir != "" {
		return a.DataDir
	}
	if dir := os.Getenv(DataDirVariable); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "yuba")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "yuba-data"
	}
	return filepath.Join(home, ".local", "share", "yuba")
}

// Stack reads NAME or NAMESPACE/NAME.
func (s *Session) Stack(cmd *cobra.Command, argument string) (types.NamespacedName, error) {
	namespace, name, both := strings.Cut(argument, "/")
	if !both {
		namespace, name = s.Namespace, argument
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, ui.UsageErrorf(cmd, "%q is not the name of a stack: want NAME or NAMESPACE/NAME", argument)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// InSession makes the action of a command that talks to the API, for as long as --timeout allows.
func (a *App) InSession(do func(*cobra.Command, *Session, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.Connect()
		if err != nil {
			return err
		}
		ctx, cancel := ui.WithTimeout(cmd)
		defer cancel()
		cmd.SetContext(ctx)
		return do(cmd, s, args)
	}
}

// Unconnected is a session without an API, for manifests that are only printed.
func (a *App) Unconnected() (*Session, error) {
	namespace, _, err := a.loader().Namespace()
	if clientcmd.IsEmptyConfig(err) {
		namespace, err = cmp.Or(a.NamespaceFlag(), metav1.NamespaceDefault), nil
	}
	return &Session{App: a, Namespace: namespace}, err
}

// NamedAction acts on the stack with a key; rest are the arguments behind its name.
type NamedAction func(ctx context.Context, s *Session, key types.NamespacedName, rest []string) error

// StackAction acts on a stack that was read.
type StackAction func(ctx context.Context, s *Session, t *infrav1.Terraform, rest []string) error

// OnName makes the action of a command about the stack that the first argument names.
func (a *App) OnName(do NamedAction) func(*cobra.Command, []string) error {
	return a.InSession(func(cmd *cobra.Command, s *Session, args []string) error {
		key, err := s.Stack(cmd, args[0])
		if err != nil {
			return err
		}
		return do(cmd.Context(), s, key, args[1:])
	})
}

// OnStack is OnName for commands that read the stack first.
func (a *App) OnStack(do StackAction) func(*cobra.Command, []string) error {
	return a.OnName(func(ctx context.Context, s *Session, key types.NamespacedName, rest []string) error {
		t, err := s.Get(ctx, key)
		if err != nil {
			return err
		}
		return do(ctx, s, t, rest)
	})
}

// OnObjects makes the action of a command about the objects of a kind that the arguments name.
func (a *App) OnObjects(k Kind, do func(context.Context, *Session, []types.NamespacedName) error) func(*cobra.Command, []string) error {
	return a.InSession(func(cmd *cobra.Command, s *Session, args []string) error {
		keys, err := s.Keys(cmd, k, args)
		if err != nil {
			return err
		}
		return do(cmd.Context(), s, keys)
	})
}

// Call is the stack's name for a suggested command, which runs without the flags of this one.
func (s *Session) Call(key types.NamespacedName) string {
	if key.Namespace == s.Namespace && s.NamespaceFlag() == "" {
		return key.Name
	}
	return key.String()
}

// ServerPatience limits requests whose failure is not an error.
const ServerPatience = 3 * time.Second

// ServerInfo reads the server's version and state.
func (a *App) ServerInfo(ctx context.Context) (content.ServerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, ServerPatience)
	defer cancel()
	s, err := a.Connect()
	if err != nil {
		return content.ServerInfo{}, err
	}
	return s.Content.Server(ctx)
}
