# Completes weightmap in bash.
_weightmap() {
	local kind= word about
	COMPREPLY=()
	while IFS=$'\t' read -r word about; do
		if [[ -z $kind ]]; then
			kind=$word
		else
			COMPREPLY+=("$(printf %q "$word")")
		fi
	done < <("${COMP_WORDS[0]/#\~/$HOME}" completion -complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	[[ $kind == files ]] || compopt +o default 2>/dev/null
}
complete -o default -F _weightmap weightmap
