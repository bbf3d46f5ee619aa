#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the labels of the image, each as KEY=VALUE with a NUL behind it. They are
# made of manifest.json and of the models in yang/, and of nothing else.
set -eu
cd "$(dirname "$0")"

label() { # KEY FILE
	printf '%s=%s\0' "$1" "$(cat "$2")"
}

label com.azure.sonic.manifest manifest.json
for model in ../yang/*.yang; do
	label "com.azure.sonic.yang-module.$(basename "$model" .yang)" "$model"
done
