// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

// session is a way into one API.
type session struct {
	*app
	config    *rest.Config
	objects   client.WithWatch
	content   *content.Client
	namespace string
}

// fieldOwner names this program as the manager of fields that it sets.
const fieldOwner = client.FieldOwner("yuba-cli")

// stackKind is the kind of all stacks.
var stackKind = infrav1.GroupVersion.WithKind("Terraform")

// connect makes a session; it does not speak to the API yet.
func (a *app) connect() (*session, error) {
	loader := a.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	// A person's few requests need no throttling on this side.
	config.QPS = -1
	config.UserAgent = "yuba/" + version.String()
	return a.connectTo(config, namespace)
}

func (a *app) connectTo(config *rest.Config, namespace string) (*session, error) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the kinds: %w", err)
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the kinds: %w", err)
	}
	// The kinds are known; asking the API what it serves would cost two more requests.
	mapper := meta.NewDefaultRESTMapper(nil)
	addKinds(mapper)
	objects, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	bytes, err := content.NewClient(config)
	if err != nil {
		return nil, err
	}
	return &session{app: a, config: config, objects: objects, content: bytes, namespace: namespace}, nil
}

// loader finds the kubeconfig: the flag's, that of the data directory that a flag names, $KUBECONFIG's, that of the usual
// data directory, the usual one.
func (a *app) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	if path, ok := a.homeKubeconfig(); ok && a.kubeconfig == "" {
		if a.dataDir != "" {
			rules.ExplicitPath = path
		}
		// The usual files stay behind it, so that their contexts can still be named.
		rules.Precedence = append([]string{path}, rules.Precedence...)
	}
	return withToken{clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &a.overrides), a}
}

// homeKubeconfig is the kubeconfig that "yuba up" wrote, if it is the one to use.
func (a *app) homeKubeconfig() (string, bool) {
	path := filepath.Join(a.dataDirectory(), "kubeconfig")
	if a.dataDir != "" {
		return path, true
	}
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		return "", false
	}
	_, err := os.Stat(path)
	return path, err == nil
}

// dataDirVariable names it in the environment.
const dataDirVariable = "YUBA_DATA_DIR"

// dataDirectory is where "yuba up" keeps everything.
func (a *app) dataDirectory() string {
	if a.dataDir != "" {
		return a.dataDir
	}
	if dir := os.Getenv(dataDirVariable); dir != "" {
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

// stack reads NAME or NAMESPACE/NAME.
func (s *session) stack(cmd *cobra.Command, argument string) (types.NamespacedName, error) {
	namespace, name, both := strings.Cut(argument, "/")
	if !both {
		namespace, name = s.namespace, argument
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, usageErrorf(cmd, "%q is not the name of a stack: want NAME or NAMESPACE/NAME", argument)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// inSession makes a command's action of one that speaks to the API. A command without -o passes no output.
func (a *app) inSession(out *output, do func(*cobra.Command, *session, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		s, err := a.connect()
		if err != nil {
			return err
		}
		return do(cmd, s, args)
	}
}

// stackAction is what a command does about one stack; rest are the arguments behind its name.
type stackAction func(ctx context.Context, s *session, key types.NamespacedName, rest []string) error

// onStack makes a command's action of one about the stack that the first argument names.
func (a *app) onStack(out *output, do stackAction) func(*cobra.Command, []string) error {
	return a.inSession(out, func(cmd *cobra.Command, s *session, args []string) error {
		key, err := s.stack(cmd, args[0])
		if err != nil {
			return err
		}
		return do(cmd.Context(), s, key, args[1:])
	})
}

// onObjects makes a command's action of one about the objects of a kind that the arguments name.
func (a *app) onObjects(k kind, out *output, do func(context.Context, *session, []types.NamespacedName) error) func(*cobra.Command, []string) error {
	return a.inSession(out, func(cmd *cobra.Command, s *session, args []string) error {
		keys, err := s.keys(cmd, k, args)
		if err != nil {
			return err
		}
		return do(cmd.Context(), s, keys)
	})
}

// changeEach changes one object after the other, up to the first that cannot be, and shows them to programs.
func (s *session) changeEach(keys []types.NamespacedName, out *output, change func(types.NamespacedName) (*object, error)) error {
	var changed []*object
	for _, key := range keys {
		o, err := change(key)
		if err != nil {
			return err
		}
		changed = append(changed, o)
	}
	if !out.machine() {
		return nil
	}
	return s.showObjects(out, changed...)
}

// open connects and reads the name of a stack.
func (a *app) open(cmd *cobra.Command, argument string) (*session, types.NamespacedName, error) {
	s, err := a.connect()
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	key, err := s.stack(cmd, argument)
	return s, key, err
}

// call is how the user would name the stack in a command, which is typed or pasted without the flags of this one.
func (s *session) call(key types.NamespacedName) string {
	if key.Namespace == s.namespace && s.overrides.Context.Namespace == "" {
		return key.Name
	}
	return key.String()
}
