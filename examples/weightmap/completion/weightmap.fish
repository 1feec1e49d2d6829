# Completes weightmap in fish.
function __weightmap_complete
    set -l words (commandline -opc)
    set -l lines ($words[1] completion -complete -- $words[2..] (commandline -ct | string unescape) 2>/dev/null)
    switch "$lines[1]"
        case files
            __fish_complete_path (commandline -ct)
        case words
            printf '%s\n' $lines[2..]
    end
end
complete -c weightmap -f -a '(__weightmap_complete)'
