// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package home

import (
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	kubeoptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// public are the paths that need no credentials, because probes have none.
var public = []apiserver.AnonymousAuthCondition{{Path: "/livez"}, {Path: "/readyz"}, {Path: "/healthz"}}

// CheckAuthenticationConfig says what is wrong with a file for Options.AuthenticationConfig, before anything is touched.
func CheckAuthenticationConfig(path string) error {
	_, err := anonymousIsSet(path)
	return err
}

// anonymousIsSet reads the file that names issuers of tokens, and tells whether it says who needs no credentials.
func anonymousIsSet(path string) (bool, error) {
	if path == "" {
		return false, nil
	}
	from := kubeoptions.NewBuiltInAuthenticationOptions()
	from.AuthenticationConfigFile = path
	config, err := from.ToAuthenticationConfig()
	if err != nil {
		return false, fmt.Errorf("--authentication-config %s: %w", path, err)
	}
	return config.AuthenticationConfig.Anonymous != nil, nil
}

// admitProbes lets requests without credentials ask about health and nothing else. The API server has one setting for that
// in the same file as the issuers; this is apart from it, so that the file can be the user's own and be reloaded.
func admitProbes(authentication *genericapiserver.AuthenticationInfo) {
	authentication.Authenticator = union.NewFailOnError(authentication.Authenticator, anonymous.NewAuthenticator(public))
}
